/** The control plane as one description: what is served, documented and checked comes out of it. Architecture, decision 2. */
import * as HttpApi from "@effect/platform/HttpApi"
import * as OpenApi from "@effect/platform/OpenApi"
import { HealthApi } from "./health.ts"
import { KeyStatusApi } from "./keyStatus.ts"
import { KeysApi } from "./keys.ts"
import { ModelsApi } from "./models.ts"

export const Api = HttpApi.make("headgate")
  .addHttpApi(KeyStatusApi)
  .addHttpApi(ModelsApi)
  .addHttpApi(KeysApi)
  .addHttpApi(HealthApi)
  .annotate(OpenApi.Title, "Headgate")
  .annotate(OpenApi.Version, "1.0.0")
  .annotate(OpenApi.Description, "The control plane of a Headgate. Keys also go into the header x-api-key.")
