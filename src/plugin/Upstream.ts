/** The one door to the outside: nothing else in the house dials. Rule 4 of the reliability page, G29. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { HostFailed } from "../domain/Failure.ts"

/** A call to a host: address and credentials come from its record, never from a caller. */
export interface UpstreamCall {
  readonly url: string
  readonly method: "GET" | "POST"
  readonly headers: Record<string, string>
  readonly body: string | null
  /** Aborts the call, before its head and while its body is read. */
  readonly signal: AbortSignal
  readonly proxy?: string
}

export class Upstream extends Context.Tag("headgate/Upstream")<
  Upstream,
  {
    /** Succeeds with the head of the answer, whatever its status. Fails as `unreachable` when there is none, and when `signal` ends it. */
    readonly dial: (call: UpstreamCall) => Effect.Effect<Response, HostFailed>
  }
>() {
  /** Over the network. Redirects are answers, not instructions. */
  static readonly layer = Layer.succeed(Upstream, {
    dial: ({ url, ...init }) => answered(() => fetch(url, { ...init, redirect: "manual" })),
  })

  /** Whatever `answer` says, without a network: tests, and hosts that live in this process. */
  static readonly layerFrom = (answer: (request: Request) => Response | Promise<Response>) =>
    Layer.succeed(Upstream, { dial: (call) => dialFunction(answer, call) })
}

/** Calls a function in place of a host. */
export const dialFunction = (
  answer: (request: Request) => Response | Promise<Response>,
  { url, ...init }: UpstreamCall,
): Effect.Effect<Response, HostFailed> => answered(async () => answer(new Request(url, init)))

// One `async` in place of `tryPromise`: this stands on the way of every request (architecture, what it must cost).
const answered = (call: () => Promise<Response>): Effect.Effect<Response, HostFailed> =>
  Effect.async((resume) => {
    call().then(
      (response) => resume(Effect.succeed(response)),
      (cause) => resume(Effect.fail(new HostFailed({ reason: "unreachable", cause }))),
    )
  })
