/**
 * The description of the API. The routes of the control plane are made from it; those of the data plane are added to its
 * document (`http/openapi/document.ts`).
 */
import * as HttpApi from "@effect/platform/HttpApi"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { isJsonObject, type JsonObject } from "../../domain/json/json.ts"
import { version } from "../../process/version.ts"
import type { Prefix } from "../Mount.ts"
import { at, withDataPlane } from "../openapi/document.ts"
import { mapped } from "../openapi/mapped.ts"
import { ActivityGroup } from "./activity/activity.ts"
import { AnalyticsGroup } from "./activity/analytics.ts"
import { BackupGroup } from "./backup.ts"
import { ConfigGroup } from "./config.ts"
import { withExamples } from "./examples.ts"
import { GenerationGroup } from "./generation.ts"
import { HealthGroup } from "./health.ts"
import { KeyStatusGroup } from "./keys/keyStatus.ts"
import { KeysGroup } from "./keys/keys.ts"
import { ModelsGroup } from "./models/models.ts"
import { ProvidersGroup } from "./models/providers.ts"
import { LiveGroup } from "./requests/live.ts"
import { RequestsGroup } from "./requests/requests.ts"
import { SessionGroup } from "./session.ts"
import { AlertsGroup } from "./state/alerts.ts"
import { StateGroup } from "./state/state.ts"
import { withSummaries } from "./summaries.ts"
import { VersionGroup } from "./version.ts"

// HttpApi adds to every operation a 400 with another body, which is never sent (`http/answer.ts`).
const withoutErrors = Object.assign(HttpApi.make("headgate"), { errorSchema: Schema.Never })

/**
 * The document without 429 where no operation answers so: reads are refused where too many wait (`Reads.ts`), and who signs in too often.
 * `Authorize` documents it for all.
 */
const withoutTooMany = (document: JsonObject): JsonObject => ({
  ...document,
  paths: eachIn(document["paths"], (path) =>
    eachIn(path, (operation, method) => {
      if (!isJsonObject(operation) || !isJsonObject(operation["responses"])) return operation
      const id = operation["operationId"]
      if ((method === "get" && id !== "backup.backup") || id === "session.signIn") return operation
      const { 429: _, ...responses } = operation["responses"]
      return { ...operation, responses }
    }),
  ),
})

const eachIn = (value: unknown, each: (inner: unknown, name: string) => unknown): unknown =>
  isJsonObject(value) ? mapped(value, each) : value

const complete = (document: JsonObject) => withSummaries(withDataPlane(withExamples(withoutTooMany(document))))

export const Api = withoutErrors
  .add(KeyStatusGroup)
  .add(ModelsGroup)
  .add(ProvidersGroup)
  .add(KeysGroup)
  .add(SessionGroup)
  .add(ActivityGroup)
  .add(AnalyticsGroup)
  .add(GenerationGroup)
  .add(RequestsGroup)
  .add(AlertsGroup)
  .add(StateGroup)
  .add(LiveGroup)
  .add(BackupGroup)
  .add(ConfigGroup)
  .add(VersionGroup)
  .add(HealthGroup)
  .annotate(OpenApi.Title, "Headgate")
  .annotate(OpenApi.Version, version)
  .annotate(
    OpenApi.Description,
    "A gateway for language models. A key may also be sent as x-api-key. On the control plane and at /route/explain the cookie of a session stands in for it.",
  )
  .annotate(OpenApi.Transform, complete)

/** The same with paths below a prefix. */
export const apiAt = (prefix: Prefix) => Api.annotate(OpenApi.Transform, (document) => at(prefix, complete(document)))
