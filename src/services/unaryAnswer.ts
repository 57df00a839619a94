/** A whole answer of one host: sent, collected within its bound, and read. */
import type * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Endpoint } from "../catalogue/endpoints.ts"
import type { ChatResponse } from "../domain/Chat.ts"
import { HostFailed } from "../domain/Failure.ts"
import type { ResponseHead, Sink } from "../upstream/exchange.ts"
import type { AnswerContext } from "../wire/Protocol.ts"
import type { Attempt } from "./Attempt.ts"
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
    const answer = new UnaryAnswer(attempt, endpoint, longestAnswer, read, resume)
    attempt.onStop = () => answer.failed(attempt.stopped ?? malformed)
    if (attempt.stopped !== undefined) answer.failed(attempt.stopped)
    else attempt.exchange = client.send(endpoint, encoded, answer)
  })

const malformed = new HostFailed({ reason: "malformed" })

class UnaryAnswer<A> implements Sink {
  private readonly attempt: Attempt
  private readonly endpoint: Endpoint
  private readonly longestAnswer: number
  private readonly read: (head: ResponseHead, body: unknown) => A | HostFailed
  private readonly resume: (exit: Exit.Exit<A | HostFailed>) => void
  private received: ResponseHead | undefined
  private body: BodyText | undefined

  constructor(
    attempt: Attempt,
    endpoint: Endpoint,
    longestAnswer: number,
    read: (head: ResponseHead, body: unknown) => A | HostFailed,
    resume: (exit: Exit.Exit<A | HostFailed>) => void,
  ) {
    this.attempt = attempt
    this.endpoint = endpoint
    this.longestAnswer = longestAnswer
    this.read = read
    this.resume = resume
  }

  head(received: ResponseHead): void {
    this.received = received
    this.body = new BodyText(received.status === 200 ? this.longestAnswer : longestErrorBody)
  }

  data(bytes: Uint8Array): void {
    const { received, body, endpoint } = this
    if (received === undefined || body === undefined || body.add(bytes)) return
    this.failed(received.status === 200 ? malformed : refusedBy(endpoint, received, body.take()))
  }

  end(): void {
    const { received, body, endpoint } = this
    if (received === undefined || body === undefined) return
    const text = body.take()
    const isAnswer = received.status === 200
    this.finish(isAnswer ? this.read(received, parsedBody(text)) : refusedBy(endpoint, received, text))
  }

  failed(failure: HostFailed): void {
    this.attempt.exchange?.cancel()
    this.finish(failure)
  }

  /** Only the first call counts. */
  private finish(answer: A | HostFailed): void {
    this.resume(Exit.succeed(answer))
  }
}

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
