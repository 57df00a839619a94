/** A request that was admitted, for code that is tried without the HTTP layer. */
import type { KeyRecord } from "../../../src/domain/keys/key.ts"
import { Lifetime, RequestContext, type RequestFacts } from "../../../src/services/request/RequestContext.ts"
import { sampleKey } from "../../sql/samples.ts"

let requests = 0

/** `key`: an id, or the whole record. `nowMs`: see `RequestContext`. */
export const requestContext = (
  key: string | KeyRecord = "a key",
  facts: Partial<RequestFacts> = {},
  nowMs: () => number = () => 0,
): RequestContext => {
  requests += 1
  return new RequestContext(
    {
      requestId: `req-${requests}`,
      generationId: `gen-${requests}`,
      key: typeof key === "string" ? sampleKey(key) : key,
      attribution: { appTitle: "", appUrl: "" },
      admittedAt: Date.UTC(2026, 0, 15),
      lifetime: new Lifetime(),
      ...{ form: "chat", operation: "chat", models: ["acme/small"], strategy: "price", seed: 1 },
      ...facts,
    },
    nowMs,
  )
}
