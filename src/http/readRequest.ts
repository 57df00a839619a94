/** The body of a request, read with bounds on its size and its time. See docs/guarantees.md#g30. */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { BadRequest, BodyTooLarge, CallerGone, TimedOut } from "../domain/Failure.ts"
import type { Ending, Lifetime } from "../services/RequestContext.ts"
import { wait } from "../services/Steps.ts"
import type { Timers } from "../services/Timers.ts"

/** How long a caller may take to send a body, milliseconds. */
const bodyTimeoutMs = 30_000

const unreadable = (path: string, message: string) => Effect.fail(new BadRequest({ issues: [{ path, message }] }))

/** All bytes of the body. Ends at once when the request is ended: at shutdown a body may still be on its way. */
export const readRequest = (
  request: Request,
  limitBytes: number,
  timers: Context.Tag.Service<Timers>,
  lifetime: Lifetime,
): Effect.Effect<Uint8Array, BadRequest | BodyTooLarge | TimedOut | Ending> => {
  const { headers } = request
  const encoding = headers.get("content-encoding")
  if (encoding !== null && encoding !== "identity")
    return unreadable("Content-Encoding", "compressed bodies are not accepted")
  const type = headers.get("content-type")
  if (type !== null && !/^application\/(?:[\w.+-]+\+)?json\b/i.test(type)) {
    return unreadable("Content-Type", "must be application/json")
  }
  const length = headers.get("content-length")
  if (length !== null && Number(length) > limitBytes) return Effect.fail(new BodyTooLarge({ limitBytes }))
  return wait((resume) => {
    // May be called again when the body comes, or breaks off, after the request was ended: `wait` takes the first outcome.
    const finish = (exit: Exit.Exit<Uint8Array, BodyTooLarge | TimedOut | Ending>): void => {
      timer.clear()
      lifetime.forget(ended)
      resume(exit)
    }
    const late = () => finish(Exit.fail(new TimedOut({ phase: "body", afterMs: bodyTimeoutMs })))
    const timer = timers.set(bodyTimeoutMs, late)
    const ended = () => finish(Exit.fail(lifetime.ending ?? new CallerGone()))
    lifetime.onEnd(ended)
    if (lifetime.ending !== undefined) return
    const reading = length === null ? atMost(request, limitBytes) : request.bytes()
    reading.then(
      (bytes) => finish(bytes === undefined ? Exit.fail(new BodyTooLarge({ limitBytes })) : Exit.succeed(bytes)),
      () => finish(Exit.fail(new CallerGone())),
    )
  })
}

/** A body whose length was not announced: counted while it comes, `undefined` once it is too long. */
const atMost = async (request: Request, limitBytes: number): Promise<Uint8Array | undefined> => {
  const parts: Array<Uint8Array> = []
  let size = 0
  for await (const part of request.body ?? []) {
    size += part.byteLength
    if (size > limitBytes) return undefined
    parts.push(part)
  }
  return parts.length === 1 && parts[0] !== undefined ? parts[0] : new Uint8Array(Buffer.concat(parts, size))
}
