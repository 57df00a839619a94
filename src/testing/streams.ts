/** Checks of a recorded stream. It is read as the gateway reads it, with its bytes cut at any positions. */
import { isDeepStrictEqual } from "node:util"
import type { ChatChunk, FinishReason } from "../domain/Chat.ts"
import { HostFailed } from "../domain/Failure.ts"
import { randomSequence } from "../domain/randomSequence.ts"
import { HostStream } from "../wire/hostStream.ts"
import type { Decoder, Protocol } from "../wire/Protocol.ts"
import { attempt, type Check, must, shown } from "./check.ts"
import { contextOf, head } from "./samples.ts"
import type { NamedSample, ProtocolSubject } from "./subject.ts"
import { isCountedAs, readUsage } from "./usage.ts"

const contract = "Protocol.decoder, Decoder"

export const streamChecks = (subject: ProtocolSubject): ReadonlyArray<Check> =>
  subject.streams.flatMap((sample) => {
    const check = (name: string, holds: (protocol: Protocol, sample: NamedSample) => void): Check => ({
      name: `${subject.name}: ${sample.name} ${name}`,
      run: () => holds(subject.protocol(), sample),
    })
    return [
      check("reads the same however its bytes are cut", sameAtAnyCut),
      check("ends once", endsOnce),
      check("is counted", isCounted),
      check("comes to what is expected", comesToAll),
      check("comes to the same where the gateway leaves the decoder out", isTransparent),
    ]
  })

/**
 * What must be equal when a stream is read twice. Without the ids of tool calls, which are generated where a host sends
 * none.
 */
interface Outcome {
  readonly text: ReadonlyArray<string>
  readonly reasoning: ReadonlyArray<string>
  readonly calls: ReadonlyArray<string>
  readonly finishes: ReadonlyArray<{ readonly index: number; readonly reason: FinishReason }>
  readonly usage: unknown
  readonly failure: string | undefined
}

/** Combines the chunks of a decoder. */
class Gatherer {
  private readonly text: Array<string> = []
  private readonly reasoning: Array<string> = []
  private readonly calls: Array<string> = []
  private readonly finishes: Array<Outcome["finishes"][number]> = []

  add(chunks: ReadonlyArray<ChatChunk>): void {
    for (const { index, delta, finish_reason: reason } of chunks.flatMap(({ choices }) => choices)) {
      this.text[index] = (this.text[index] ?? "") + textOf(delta.content)
      this.reasoning[index] = (this.reasoning[index] ?? "") + textOf(delta.reasoning)
      for (const { index: at, function: called } of delta.tool_calls ?? []) {
        this.calls[at] = (this.calls[at] ?? "") + textOf(called?.name) + textOf(called?.arguments)
      }
      if (reason !== null) this.finishes.push({ index, reason })
    }
  }

  outcome({ usage, failure }: HostStream): Outcome {
    const { text, reasoning, calls, finishes } = this
    return { text, reasoning, calls, finishes, usage, failure: failure?.reason }
  }
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "")

const bytesOf = ({ bytes }: NamedSample): Uint8Array =>
  typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes

/** Reads the stream when its bytes arrive in these pieces. */
const read = (
  protocol: Protocol,
  sample: NamedSample,
  pieces: ReadonlyArray<Uint8Array> = [bytesOf(sample)],
): Outcome => {
  const { framing, usage } = protocol
  const gatherer = new Gatherer()
  const decoder = protocol.decoder(head, contextOf(true))
  const watched = {
    event: (name, data) => {
      const chunks = decoder.event(name, data)
      if (!(chunks instanceof HostFailed)) gatherer.add(chunks)
      return chunks
    },
    end: () => {
      const chunks = decoder.end()
      if (!(chunks instanceof HostFailed)) gatherer.add(chunks)
      return chunks
    },
    ...(decoder.done === undefined ? {} : { done: () => decoder.done?.() === true }),
  } satisfies Decoder
  const stream = new HostStream({
    framing,
    usage,
    decoder: watched,
    writer: { chunk: () => "" },
    transparent: false,
    excludeReasoning: false,
    choices: 1,
  })
  attempt(`Reading ${sample.name}`, contract, () => {
    for (const piece of pieces) stream.push(piece)
    stream.end()
  })
  return gatherer.outcome(stream)
}

const sameAtAnyCut = (protocol: Protocol, sample: NamedSample): void => {
  const bytes = bytesOf(sample)
  const whole = read(protocol, sample)
  const cuts = [oneByOne(bytes), ...[1, 2, 3, 4, 5].map((seed) => atRandom(bytes, seed))]
  for (const [at, pieces] of cuts.entries()) {
    const outcome = read(protocol, sample, pieces)
    must(
      isDeepStrictEqual(outcome, whole),
      `${sample.name} in one piece comes to ${shown(whole)}, cut ${at === 0 ? "into single bytes" : "at random positions"} to ${shown(outcome)}: ` +
        "there may be state outside of what decoder() makes for each answer",
      `${contract}: made for one answer and thrown away with it`,
    )
  }
}

const oneByOne = (bytes: Uint8Array) => Array.from(bytes, (_, at) => bytes.subarray(at, at + 1))

const atRandom = (bytes: Uint8Array, seed: number): ReadonlyArray<Uint8Array> => {
  const random = randomSequence(seed)
  const pieces: Array<Uint8Array> = []
  for (let at = 0; at < bytes.length; ) {
    const next = at + 1 + Math.floor(random() * 60)
    pieces.push(bytes.subarray(at, next))
    at = next
  }
  return pieces
}

const endsOnce = (protocol: Protocol, sample: NamedSample): void => {
  const { finishes, failure } = read(protocol, sample)
  must(failure === undefined, `${sample.name} is read as a failure of the host ("${failure}")`, contract)
  const places = finishes.map(({ index }) => index)
  must(places.length > 0, `${sample.name} has no chunk with a finish_reason`, "ChatChunkChoice.finish_reason")
  must(
    new Set(places).size === places.length,
    `${sample.name} ends more than once: ${shown(finishes)}`,
    "ChatChunkChoice.finish_reason: one per choice",
  )
}

const isCounted = (protocol: Protocol, sample: NamedSample): void => {
  const { usage } = read(protocol, sample)
  const { counted } = sample.expects
  if (counted === undefined) readUsage(usage, sample.name)
  else isCountedAs(usage, counted, sample.name)
}

const comesToAll = (protocol: Protocol, sample: NamedSample): void => {
  const { text, finishes } = read(protocol, sample)
  const { text: expected, finishReason } = sample.expects
  must(
    (text[0] ?? "") === expected,
    `${sample.name} comes to ${shown(text[0] ?? "")}, expected ${shown(expected)}`,
    contract,
  )
  const reason = finishes.find(({ index }) => index === 0)?.reason
  must(
    finishReason === undefined || reason === finishReason,
    `${sample.name} ends with ${shown(reason)}, expected ${shown(finishReason)}`,
    "FinishReason",
  )
}

/** In a transparent protocol plain text deltas bypass the decoder. The result must be the same without that. */
const isTransparent = (protocol: Protocol, sample: NamedSample): void => {
  const { framing, usage } = protocol
  if (protocol.transparent !== true) return
  const written = (isTransparent: boolean): string => {
    const stream = new HostStream({
      framing,
      usage,
      decoder: protocol.decoder(head, contextOf(true)),
      writer: {
        chunk: (chunk) => `${JSON.stringify(chunk)}\n`,
        spliceable: { json: (text) => text.slice(0, -1), text: (json) => `${json}\n` },
      },
      transparent: isTransparent,
      excludeReasoning: false,
      choices: 1,
    })
    const lines = `${stream.push(bytesOf(sample))}${stream.end()}`.split("\n").filter((line) => line !== "")
    return lines.map((line) => textOf(JSON.parse(line).choices[0]?.delta.content)).join("")
  }
  const [decoded, exchanged] = [written(false), written(true)]
  must(
    decoded === exchanged,
    `The protocol claims to be transparent, but its decoder makes ${shown(decoded)} of what passes untouched as ${shown(exchanged)}`,
    "Protocol.transparent",
  )
}
