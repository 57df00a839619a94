/** Bodies of hosts, read with a bound: they are hostile input like any other. Reliability page, rule 5 and G10. */
import * as Effect from "effect/Effect"
import { HostFailed } from "../domain/Failure.ts"

/** The text of an answer of at most `limit` bytes; more is `malformed`, and what breaks off is `unreachable`. */
export const readText = (response: Response, limit: number): Effect.Effect<string, HostFailed> =>
  Effect.async((resume) => {
    text(response, limit).then(
      (body) =>
        resume(body === undefined ? Effect.fail(new HostFailed({ reason: "malformed" })) : Effect.succeed(body)),
      (cause) => resume(Effect.fail(new HostFailed({ reason: "unreachable", cause }))),
    )
  })

const text = async (response: Response, limit: number): Promise<string | undefined> => {
  const length = response.headers.get("content-length")
  if (length !== null) return Number(length) <= limit ? response.text() : undefined
  const decoder = new TextDecoder()
  let body = ""
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength
    if (size > limit) return undefined
    body += decoder.decode(chunk, { stream: true })
  }
  return body + decoder.decode()
}
