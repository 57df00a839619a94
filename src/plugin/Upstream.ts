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

/** What is made of an answer: its head alone, or all of it. What it throws is a failure of the host. */
export type ReadAnswer<A> = (response: Response) => A | Promise<A>

export class Upstream extends Context.Tag("headgate/Upstream")<
  Upstream,
  {
    /**
     * Calls, and reads the answer, whatever its status. One step, since every request takes it. Fails as `unreachable` when
     * there is no answer or it breaks off, and when `signal` ends it.
     */
    readonly dial: <A>(call: UpstreamCall, read: ReadAnswer<A>) => Effect.Effect<A, HostFailed>
  }
>() {
  /** Over the network. Redirects are answers, not instructions. */
  static readonly layer = Layer.succeed(Upstream, {
    dial: ({ url, ...init }, read) => answered(() => fetch(url, { ...init, redirect: "manual" }), read),
  })

  /** Whatever `answer` says, without a network: tests, and hosts that live in this process. */
  static readonly layerFrom = (answer: (request: Request) => Response | Promise<Response>) =>
    Layer.succeed(Upstream, { dial: (call, read) => dialFunction(answer, call, read) })
}

/** Calls a function in place of a host. */
export const dialFunction = <A>(
  answer: (request: Request) => Response | Promise<Response>,
  { url, ...init }: UpstreamCall,
  read: ReadAnswer<A>,
): Effect.Effect<A, HostFailed> => answered(async () => answer(new Request(url, init)), read)

const answered = <A>(call: () => Promise<Response>, read: ReadAnswer<A>): Effect.Effect<A, HostFailed> =>
  Effect.async((resume) => {
    call()
      .then(read)
      .then(
        (answer) => resume(Effect.succeed(answer)),
        (cause) => resume(cause instanceof HostFailed ? cause : new HostFailed({ reason: "unreachable", cause })),
      )
  })
