/** A whole answer of one host: sent, collected within its bound, and read. */
import type * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Endpoint } from "../catalogue/endpoints.ts"
import type { ChatResponse } from "../domain/Chat.ts"
import { HostFailed } from "../domain/Failure.ts"
import type { ResponseHead } from "../upstream/exchange.ts"
import type { AnswerContext } from "../wire/Protocol.ts"
import { BodyText } from "./BodyText.ts"
import type { Begun } from "./beginAttempt.ts"
import { wait } from "./Steps.ts"
import { longestErrorBody, parsedBody, refusedBy, type UpstreamClient } from "./upstreamCall.ts"

/**
 * Sends the request and collects the whole answer. Ends at once when the attempt is stopped. `read` gets the JSON of one with
 * status 200; when it throws, that is a failure of the host.
 */
export const unaryAnswer = <A>(
  client: UpstreamClient,
  { attempt, endpoint, encoded }: Begun,
  longestAnswer: number,
  read: (head: ResponseHead, body: unknown) => A | HostFailed,
): Effect.Effect<A | HostFailed> =>
  wait((resume) => {
    let isOver = false
    const finish = (answer: A | HostFailed): void => {
      if (isOver) return
      isOver = true
      resume(Exit.succeed(answer))
    }
    attempt.onStop = () => finish(attempt.stopped ?? malformed)
    if (attempt.stopped !== undefined) return finish(attempt.stopped)

    let head: ResponseHead | undefined
    let body: BodyText | undefined
    attempt.exchange = client.send(endpoint, encoded, {
      head: (received) => {
        head = received
        body = new BodyText(received.status === 200 ? longestAnswer : longestErrorBody)
      },
      data: (bytes) => {
        if (head === undefined || body === undefined || body.add(bytes)) return
        attempt.exchange?.cancel()
        finish(head.status === 200 ? malformed : refusedBy(endpoint, head, body.take()))
      },
      end: () => {
        if (head === undefined || body === undefined) return
        const text = body.take()
        if (head.status !== 200) return finish(refusedBy(endpoint, head, text))
        finish(read(head, parsedBody(text)))
      },
      failed: (failure) => {
        attempt.exchange?.cancel()
        finish(failure)
      },
    })
  })

const malformed = new HostFailed({ reason: "malformed" })

/** Reads a complete body as an answer or as a failure. */
export const readAnswer = (
  endpoint: Endpoint,
  head: ResponseHead,
  body: string,
  context: AnswerContext,
): ChatResponse | HostFailed => {
  if (head.status !== 200) return refusedBy(endpoint, head, body)
  return endpoint.protocol.decode(head, parsedBody(body), context)
}
