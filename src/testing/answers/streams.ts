/** Checks of a recorded stream. It is read as the gateway reads it, with its bytes cut at any positions. */
import { isDeepStrictEqual } from "node:util"
import { HostFailed } from "../../domain/failures/Failure.ts"
import type { ChatChunk, ChatDelta } from "../../domain/request/chat.ts"
import { randomSequence } from "../../domain/structures/randomSequence.ts"
import { isOurs } from "../../formats/ownProtocols.ts"
import type { Decoder, Protocol } from "../../formats/Protocol.ts"
import { HostStream } from "../../formats/stream/HostStream.ts"
import { expectedOfChunks } from "../../plugin/checks/shapes.ts"
import { attempt, type Check, must, shown } from "../Check.ts"
import { contextOf, head } from "../samples.ts"
import { isLacking, type NamedSample, type ProtocolSubject } from "../subject.ts"
import { waitIn } from "./errors.ts"
import { bytesOf, eventsOf, piecesOf, streamOf } from "./frames.ts"
import { callsApart, callsWell, comesTo, failsAs, Gatherer, type Outcome, reasonSaid, withoutIds } from "./Outcome.ts"
import { isBilledRight } from "./usage.ts"

const contract = "Protocol.decoder, Decoder"

export const streamChecks = (subject: ProtocolSubject): ReadonlyArray<Check> =>
  subject.streams.flatMap((sample) => {
    const check = (name: string, holds: (protocol: Protocol, sample: NamedSample) => void): Check => ({
      name: `${subject.name}: ${sample.name} ${name}`,
      run: () => holds(subject.protocol(), sample),
    })
    return [
      check("reads the same however its bytes are cut", sameAtAnyCut),
      check("leaves nothing behind where it is broken off", leavesNothing),
      ...(sample.expects.failure === undefined
        ? [
            check("ends once", endsOnce),
            check("is given no finish where it is broken off", inventsNoFinish),
            check("is done after its last event", saysDone),
            check("counts no output before there is any", keepsUpWithText),
            check("is counted", (protocol, each) => isCounted(protocol, each, isLacking(subject.subject, "usage"))),
            check("comes to what is expected", comesToAll),
            check("comes to the same where the gateway leaves the decoder out", isTransparent),
          ]
        : [check("fails as is expected", fails)]),
    ]
  })

const textOf = (value: unknown): string => (typeof value === "string" ? value : "")

/** A stream as the gateway reads it, and what its decoder gave so far. */
export const reading = (protocol: Protocol) => {
  const gatherer = new Gatherer()
  const decoder = protocol.decoder(head, contextOf(true))
  const gathered = (chunks: ReturnType<Decoder["end"]>) => {
    if (!(chunks instanceof HostFailed)) gatherer.add(chunks)
    return chunks
  }
  const watched = {
    event: (name, data) => {
      const chunks = decoder.event(name, data)
      const expected = chunks instanceof HostFailed ? undefined : expectedOfChunks(chunks)
      must(expected === undefined, () => `The decoder gave ${shown(chunks)}; it must return ${expected}`, "ChatChunk")
      return gathered(chunks)
    },
    end: () => gathered(decoder.end()),
    ...(decoder.done === undefined ? {} : { done: () => decoder.done?.() === true }),
  } satisfies Decoder
  const stream = streamOf(protocol, watched)
  return { stream, gatherer }
}

/** Reads the stream when its bytes arrive in these pieces. */
const read = (
  protocol: Protocol,
  sample: NamedSample,
  pieces: ReadonlyArray<Uint8Array> = [bytesOf(sample)],
): Outcome => {
  const { stream, gatherer } = reading(protocol)
  attempt(`Reading ${sample.name}`, contract, () => {
    for (const piece of pieces) stream.push(piece)
    stream.end()
  })
  return { choices: gatherer.choices, usage: stream.usage, failure: stream.failure }
}

/** What the stream comes to, for checks of other parts. */
export const streamOutcome = (protocol: Protocol, sample: NamedSample): Outcome => read(protocol, sample)

const sameAtAnyCut = (protocol: Protocol, sample: NamedSample): void => {
  const bytes = bytesOf(sample)
  const whole = withoutIds(read(protocol, sample))
  const same = (pieces: ReadonlyArray<Uint8Array>, cut: () => string): void => {
    const outcome = withoutIds(read(protocol, sample, pieces))
    must(
      isDeepStrictEqual(outcome, whole),
      () =>
        `${sample.name} in one piece comes to ${shown(whole)}, cut ${cut()} to ${shown(outcome)}: ` +
        "there may be state outside of what decoder() makes for each answer",
      `${contract}: made for one answer and thrown away with it`,
    )
  }
  same(oneByOne(bytes), () => "into single bytes")
  for (const seed of [1, 2, 3, 4, 5]) same(atRandom(bytes, seed), () => "at random positions")
  // Every place in a short sample, evenly spread ones in a long one.
  const step = Math.max(1, Math.floor(bytes.length / 200))
  for (let at = 1; at < bytes.length; at += step) {
    same([bytes.subarray(0, at), bytes.subarray(at)], () => `after ${at} bytes`)
  }
}

/** The caller leaves after each frame: the next answer must not notice. */
const leavesNothing = (protocol: Protocol, sample: NamedSample): void => {
  const whole = withoutIds(read(protocol, sample))
  const pieces = piecesOf(protocol, sample)
  const step = Math.max(1, Math.floor(pieces.length / 50))
  for (let kept = 1; kept <= pieces.length; kept += step) {
    const { stream } = reading(protocol)
    attempt(`Reading ${sample.name} as far as frame ${kept}`, contract, () => {
      for (const piece of pieces.slice(0, kept)) stream.push(piece)
      return stream.output.usageSoFar
    })
    const outcome = withoutIds(read(protocol, sample))
    must(
      isDeepStrictEqual(outcome, whole),
      () =>
        `${sample.name} comes to ${shown(whole)}, and to ${shown(outcome)} after a caller left at frame ${kept} of an earlier answer`,
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
  const { choices, failure } = read(protocol, sample)
  must(
    failure === undefined,
    () => `${sample.name} is read as a failure of the host (${reasonSaid(failure?.reason ?? "plugin")})`,
    contract,
  )
  const finishes = choices.flatMap((choice) => (choice === undefined ? [] : [choice.finishes]))
  must(
    finishes.some(({ length }) => length > 0),
    `${sample.name} has no chunk with a finish_reason`,
    "ChatChunkChoice.finish_reason",
  )
  must(
    finishes.every(({ length }) => length < 2),
    `${sample.name} ends more than once: ${shown(finishes)}`,
    "ChatChunkChoice.finish_reason: one per choice",
  )
}

/**
 * Where the host has a last event (`done`), the end of a stream that still had something to say is no finish: the gateway would
 * take half an answer for a whole one.
 */
const inventsNoFinish = (protocol: Protocol, sample: NamedSample): void => {
  const events = eventsOf(protocol, sample)
  const { saying, finishing, isDone } = followed(protocol, events)
  const last = Math.max(0, saying.lastIndexOf(true))
  const first = finishing.indexOf(true)
  must(
    first === -1 || first >= last || hasSeveralChoices(events),
    `${sample.name} has a finish_reason at event ${first + 1} of ${events.length}, before its last text or call: broken off there, half an answer would be taken for a whole one`,
    "ChatChunkChoice.finish_reason",
  )
  // Where an event brings the finish, the end of the stream does not.
  if (!isDone && (first === -1 || isOurs(protocol))) return
  for (let kept = 0; kept <= last; kept++) {
    const { rest } = followed(protocol, events.slice(0, kept))
    must(
      rest instanceof HostFailed || !finishes(rest),
      `${sample.name}, broken off after ${kept} of ${events.length} events, is ended by end() with a finish_reason that the host did not send`,
      "Decoder.end",
    )
  }
}

/** Where each choice has a finish of its own, others may go on. */
const hasSeveralChoices = (events: ReturnType<typeof eventsOf>): boolean => /"index":[1-9]/.test(JSON.stringify(events))

const finishes = (chunks: ReadonlyArray<ChatChunk>): boolean =>
  chunks.some(({ choices }) => choices.some((choice) => choice.finish_reason != null))

/**
 * A protocol that has a last event says when it has come. Otherwise a host that keeps its connection open would keep its caller
 * waiting.
 */
const saysDone = (protocol: Protocol, sample: NamedSample): void => {
  if (protocol.decoder(head, contextOf(true)).done === undefined) return
  must(
    followed(protocol, eventsOf(protocol, sample)).isDone || /data: ?\[DONE\]/.test(textIn(sample)),
    `After all events of ${sample.name} done() is still false: the caller waits until the host closes the connection`,
    "Decoder.done",
  )
}

const textIn = (sample: NamedSample): string => new TextDecoder().decode(bytesOf(sample))

/** Which events give text, reasoning or calls (`saying`), calls (`calling`), and a finish (`finishing`). `rest`: what `end` gives. */
export const followed = (protocol: Protocol, events: ReturnType<typeof eventsOf>) => {
  const decoder = attempt("decoder()", contract, () => protocol.decoder(head, contextOf(true)))
  const saying: Array<boolean> = []
  const calling: Array<boolean> = []
  const finishing: Array<boolean> = []
  for (const [name, data] of events) {
    const chunks = attempt("The decoder's event()", contract, () => decoder.event(name, data))
    if (chunks instanceof HostFailed) break
    const expected = expectedOfChunks(chunks)
    must(
      expected === undefined,
      () => `The decoder's event() gave ${shown(chunks)}; it must return ${expected}`,
      "ChatChunk",
    )
    saying.push(chunks.some(({ choices }) => choices.some(({ delta }) => says(delta))))
    calling.push(chunks.some(({ choices }) => choices.some(({ delta }) => (delta.tool_calls ?? []).length > 0)))
    finishing.push(finishes(chunks))
    if (decoder.done?.() === true) break
  }
  const isDone = decoder.done?.() === true
  const rest = attempt("The decoder's end()", contract, () => decoder.end())
  return { saying, calling, finishing, isDone, rest }
}

const says = ({ content, reasoning, tool_calls: calls }: ChatDelta): boolean =>
  textOf(content) !== "" || textOf(reasoning) !== "" || (calls ?? []).length > 0

const isCounted = (protocol: Protocol, sample: NamedSample, isUncounted: boolean): void => {
  const { usage } = read(protocol, sample)
  isBilledRight(usage, {
    counted: isUncounted ? (sample.expects.counted ?? null) : sample.expects.counted,
    raw: eventsOf(protocol, sample).map(([, data]) => data),
    of: sample.name,
  })
}

/** Of an answer that is broken off the last report counts, and an estimate of what came after it. */
const keepsUpWithText = (protocol: Protocol, sample: NamedSample): void => {
  const { stream } = reading(protocol)
  for (const [at, piece] of piecesOf(protocol, sample).entries()) {
    stream.push(piece)
    const { usageSoFar: usage, outputBytes } = stream.output
    must(
      usage?.completion_tokens !== 0 || outputBytes < leastBytes,
      `After event ${at + 1} of ${sample.name} the usage is 0 tokens of output, and ${outputBytes} bytes of it have come: a caller who leaves then pays nothing for them. Pass a running report on only where it keeps up with the text`,
      "ChatChunk.usage",
    )
  }
}

/** Less may be no token yet. */
const leastBytes = 8

const comesToAll = (protocol: Protocol, sample: NamedSample): void => {
  const outcome = read(protocol, sample)
  // First of all: calls in one place read as a wrong text, a wrong end or a missing sample, too.
  callsApart(outcome, sample.name)
  comesTo(outcome, sample.expects, sample.name)
  callsWell(outcome, sample.expects, sample.name)
}

const fails = (protocol: Protocol, sample: NamedSample): void => {
  const { failure: expected } = sample.expects
  const hinted = waitIn(
    {},
    eventsOf(protocol, sample).map(([, data]) => data),
  )
  const decoder = protocol.decoder(head, contextOf(true))
  const isRead = eventsOf(protocol, sample).some(([name, data]) => decoder.event(name, data) instanceof HostFailed)
  must(
    isRead || decoder.end() instanceof HostFailed || expected?.reason === "unreachable",
    `No event of ${sample.name} is read as an error, so that the stream seems to break off: errorInBody() makes a failure of an error object`,
    "Decoder.event",
  )
  if (expected !== undefined) failsAs(read(protocol, sample).failure, expected, { of: sample.name, hinted })
}

/** In a transparent protocol plain text deltas bypass the decoder. The result must be the same without that. */
const isTransparent = (protocol: Protocol, sample: NamedSample): void => {
  const { framing, usage, usageAfterError } = protocol
  if (protocol.transparent !== true) return
  const written = (isTransparent: boolean): string => {
    const stream = new HostStream({
      framing,
      usage,
      usageAfterError,
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
