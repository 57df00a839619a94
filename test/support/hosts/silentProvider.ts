/** A provider that loads but is never called: for tests of configuration and listings. */
import * as Either from "effect/Either"
import { HostFailed } from "../../../src/domain/failures/Failure.ts"
import type { Provider } from "../../../src/plugin/Provider.ts"

const failed = new HostFailed({ reason: "malformed" })

export const silentProvider: Provider = {
  protocols: {
    chat: {
      framing: "sse",
      encode: () => Either.right({ path: "/chat/completions", body: "{}" }),
      decode: () => failed,
      decoder: () => ({ event: () => failed, end: () => [] }),
    },
  },
  error: () => failed,
}
