/** Calls with defaults, and what came of them. */
import type { HostFailed } from "../../src/domain/failures/Failure.ts"
import type { Exchange, ResponseHead, Sink, StartExchange, UpstreamCall } from "../../src/upstream/Exchange.ts"
import { within } from "../support/clocks/until.ts"

export const callTo = (url: string, more: Partial<UpstreamCall> = {}): UpstreamCall => ({
  url,
  method: "POST",
  headers: { "content-type": "application/json" },
  body: "{}",
  network: "private",
  ...more,
})

export interface Answer {
  readonly head: ResponseHead | undefined
  readonly body: Buffer
  readonly failure: HostFailed | undefined
  /** The calls to the sink in their order, pieces of data as one. */
  readonly events: ReadonlyArray<string>
}

/** An exchange, all that was said about it, and a promise of its end. */
export interface Recorded {
  readonly exchange: Exchange
  readonly answer: Promise<Answer>
  readonly events: ReadonlyArray<string>
  readonly bytes: () => number
}

/** `also` hears everything after it was recorded, and may act on the exchange. */
export const record = (
  start: StartExchange,
  call: UpstreamCall,
  also: (event: keyof Sink, exchange: Exchange, bytes: Uint8Array) => void = () => {},
): Recorded => {
  const { promise, resolve } = Promise.withResolvers<Answer>()
  const events: Array<string> = []
  const pieces: Array<Buffer> = []
  let size = 0
  let head: ResponseHead | undefined
  let exchange: Exchange | undefined
  const say = (event: keyof Sink, data: Uint8Array = new Uint8Array()) => {
    if (exchange === undefined) throw new Error(`${event} came before exchange had returned`)
    if (event !== "data" || events.at(-1) !== "data") events.push(event)
    also(event, exchange, data)
  }
  const end = (failure: HostFailed | undefined) => resolve({ head, body: Buffer.concat(pieces), failure, events })
  exchange = start(call, {
    head: (received) => {
      head = received
      say("head")
    },
    data: (bytes, start, end) => {
      const piece = bytes.subarray(start, end)
      pieces.push(Buffer.from(piece))
      size += piece.length
      say("data", piece)
    },
    end: () => {
      say("end")
      end(undefined)
    },
    failed: (failure) => {
      say("failed")
      end(failure)
    },
  })
  return { exchange, answer: promise, events, bytes: () => size }
}

export const answerOf = (start: StartExchange, call: UpstreamCall): Promise<Answer> =>
  within(record(start, call).answer, "the answer")

/** What a failure says: its reason and the message of its cause. */
export const causeOf = ({ failure }: Answer): string =>
  failure === undefined
    ? "no failure"
    : `${failure.reason}: ${failure.cause instanceof Error ? failure.cause.message : String(failure.cause)}`
