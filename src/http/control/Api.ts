/** The description of the control plane, from which its routes and its documentation are made. */
import * as HttpApi from "@effect/platform/HttpApi"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { ActivityGroup } from "./activity.ts"
import { GenerationGroup } from "./generation.ts"
import { HealthGroup } from "./health.ts"
import { KeyStatusGroup } from "./keyStatus.ts"
import { KeysGroup } from "./keys.ts"
import { ModelsGroup } from "./models.ts"
import { ProvidersGroup } from "./providers.ts"

// HttpApi adds to every operation a 400 with another body, which is never sent (`http/answer.ts`).
const withoutErrors = Object.assign(HttpApi.make("headgate"), { errorSchema: Schema.Never })

export const Api = withoutErrors
  .add(KeyStatusGroup)
  .add(ModelsGroup)
  .add(ProvidersGroup)
  .add(KeysGroup)
  .add(ActivityGroup)
  .add(GenerationGroup)
  .add(HealthGroup)
  .annotate(OpenApi.Title, "Headgate")
  .annotate(OpenApi.Version, "1.0.0")
  .annotate(OpenApi.Description, "The control plane of a Headgate. A key may also be sent as x-api-key.")
