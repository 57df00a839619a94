/** The control plane as one description: what is served and what is documented come out of it. Architecture, decision 2. */
import * as HttpApi from "@effect/platform/HttpApi"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { HealthGroup } from "./health.ts"
import { KeyStatusGroup } from "./keyStatus.ts"
import { KeysGroup } from "./keys.ts"
import { ModelsGroup } from "./models.ts"

// An HttpApi begins with an error of its own on every operation, a 400 with another body. It never leaves (`http/answer.ts`).
const withoutErrors = Object.assign(HttpApi.make("headgate"), { errorSchema: Schema.Never })

export const Api = withoutErrors
  .add(KeyStatusGroup)
  .add(ModelsGroup)
  .add(KeysGroup)
  .add(HealthGroup)
  .annotate(OpenApi.Title, "Headgate")
  .annotate(OpenApi.Version, "1.0.0")
  .annotate(OpenApi.Description, "The control plane of a Headgate. A key may also be sent as x-api-key.")
