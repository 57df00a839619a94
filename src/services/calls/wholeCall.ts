/** A call whose answer is wanted as a whole, whatever its status: of plugins that sign, of model servers, of the command line. */
import * as Effect from "effect/Effect"
import { HostFailed } from "../../domain/failures/Failure.ts"
import type { SideAnswer } from "../../plugin/Provider.ts"
import type { ResponseHead, UpstreamCall } from "../../upstream/Exchange.ts"
import type { HostCaller } from "../../upstream/Upstream.ts"
import { BodyText } from "./BodyText.ts"

/** Fails as `limit` where the answer has more than `longest` bytes. An interruption ends the call. */
export const wholeCall = (
  upstream: HostCaller,
  call: UpstreamCall,
  longest: number,
): Effect.Effect<SideAnswer, HostFailed> =>
  Effect.async((resume) => {
    const text = new BodyText(longest)
    let head: ResponseHead | undefined
    const exchange = upstream.exchange(call, {
      head: (received) => {
        head = received
      },
      data: (bytes, start, end) => {
        if (text.add(bytes, start, end)) return
        exchange.cancel()
        const cause = `the answer has more than ${longest} bytes`
        resume(Effect.fail(new HostFailed({ reason: "limit", cause })))
      },
      end: () => {
        if (head === undefined) return
        // The head may be a `Response`, whose members are no own ones.
        resume(Effect.succeed({ status: head.status, headers: head.headers, body: text.take() }))
      },
      failed: (failure) => resume(Effect.fail(failure)),
    })
    return Effect.sync(exchange.cancel)
  })
