/** Bodies that have come, and take long to be decompressed on a busy machine. docs/guarantees.md#g30 */
import { expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import { readRequest } from "../../src/http/readRequest.ts"
import { Lifetime } from "../../src/services/request/RequestContext.ts"

test("a body that has come whole was told as one that did not come, while it was decompressed", async () => {
  let silent: (() => void) | undefined
  const timers = {
    now: () => 0,
    set: (_: number, fire: () => void) => {
      silent = fire
      const clear = () => {
        silent = undefined
      }
      return { restart: () => {}, clear }
    },
  }
  /** The compressed bytes are released when they are given to the inflater: then the time for a silent client passes. */
  class Slow extends Lifetime {
    override releaseBody(): void {
      super.releaseBody()
      silent?.()
    }
  }
  const text = '{"model":"acme/small"}'
  const request = new Request("http://127.0.0.1/", {
    ...{ method: "POST", body: Bun.gzipSync(text) },
    headers: { "content-type": "application/json", "content-encoding": "gzip" },
  })
  const read = readRequest(request, { limitBytes: 1000, timers, places: undefined }, new Slow())
  expect(Buffer.from(await Effect.runPromise(read)).toString()).toBe(text)
})
