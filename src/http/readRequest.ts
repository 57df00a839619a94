/** The body of a request, read with bounds on its size and its time. Table of bad inputs, rows 1 to 17; G23, G30. */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { BadRequest, BodyTooLarge, CallerGone, TimedOut } from "../domain/Failure.ts"
import type { Alarms } from "../services/Alarms.ts"

/** How long a caller may take to send a body, milliseconds. */
const patienceMs = 30_000

const unreadable = (path: string, message: string) => Effect.fail(new BadRequest({ issues: [{ path, message }] }))

export const readRequest = (
  request: Request,
  limitBytes: number,
  alarms: Context.Tag.Service<Alarms>,
): Effect.Effect<Uint8Array, BadRequest | BodyTooLarge | TimedOut | CallerGone> => {
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
  return Effect.async((resume) => {
    const alarm = alarms.set(patienceMs, () =>
      resume(Effect.fail(new TimedOut({ phase: "body", afterMs: patienceMs }))),
    )
    const reading = length === null ? atMost(request, limitBytes) : request.bytes()
    reading.then(
      (bytes) => {
        alarm.clear()
        resume(bytes === undefined ? Effect.fail(new BodyTooLarge({ limitBytes })) : Effect.succeed(bytes))
      },
      () => {
        alarm.clear()
        resume(Effect.fail(new CallerGone()))
      },
    )
    return Effect.sync(alarm.clear)
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
