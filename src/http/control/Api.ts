/**
 * The description of the API. The routes of the control plane are made from it; those of the data plane are added to its
 * document (`http/openapi/document.ts`).
 */
import * as HttpApi from "@effect/platform/HttpApi"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { version } from "../../process/version.ts"
import type { Prefix } from "../Mount.ts"
import { at, withDataPlane } from "../openapi/document.ts"
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

const complete = (document: Readonly<Record<string, unknown>>) => withSummaries(withDataPlane(withExamples(document)))

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
