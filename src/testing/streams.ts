/** Checks of a recorded stream: read by the house as it would be in earnest, cut at any place. Architecture 3, G10. */
import { isDeepStrictEqual } from "node:util"
import type { ChatChunk, FinishReason } from "../domain/Chat.ts"
import { HostFailed } from "../domain/Failure.ts"
import { isJsonObject } from "../domain/Json.ts"
import { randomSequence } from "../domain/randomSequence.ts"
import { parseUsage } from "../domain/Usage.ts"
import type { Decoder, WireForm } from "../wire/Form.ts"
import { HostStream } from "../wire/hostStream.ts"
import { attempt, type Check, must, shown } from "./check.ts"
import { host, requestOf } from "./samples.ts"
import type { FormSubject, NamedSample } from "./subject.ts"

const contract = "WireForm.decoder, Decoder"

export const streamChecks = (subject: FormSubject): ReadonlyArray<Check> =>
  subject.streams.flatMap((sample) => {
    const check = (name: string, holds: (form: WireForm) => void): Check => ({
      name: `${subject.operation}: ${sample.name} ${name}`,
      run: () => holds(subject.form()),
    })
    return [
      check("reads the same however its bytes are cut", (form) => sameAtAnyCut(form, sample)),
      check("ends once", (form) => endsOnce(form, sample)),
      check("is counted", (form) => counted(form, sample)),
      check("says what it should", (form) => saysAll(form, sample)),
      check("says the same where the house leaves the decoder out", (form) => transparent(form, sample)),
    ]
  })

/** What is the same in two readings of one stream. Ids of tool calls are left out: where a host gives none, they are made up. */
interface Told {
  readonly text: ReadonlyArray<string>
  readonly reasoning: ReadonlyArray<string>
  readonly calls: ReadonlyArray<string>
  readonly finishes: ReadonlyArray<{ readonly index: number; readonly reason: FinishReason }>
  readonly usage: unknown
  readonly failure: string | undefined
}

/** What the chunks of a decoder come to, piece by piece. */
class Teller {
  private readonly text: Array<string> = []
  private readonly reasoning: Array<string> = []
  private readonly calls: Array<string> = []
  private readonly finishes: Array<Told["finishes"][number]> = []

  add(chunks: ReadonlyArray<ChatChunk>): void {
    for (const { index, delta, finish_reason: reason } of chunks.flatMap(({ choices }) => choices)) {
      this.text[index] = (this.text[index] ?? "") + textOf(delta.content)
      this.reasoning[index] = (this.reasoning[index] ?? "") + textOf(delta["reasoning"])
      const pieces: ReadonlyArray<unknown> = Array.isArray(delta["tool_calls"]) ? delta["tool_calls"] : []
      for (const piece of pieces) this.piece(piece)
      if (reason !== null) this.finishes.push({ index, reason })
    }
  }

  private piece(piece: unknown): void {
    const called = isJsonObject(piece) ? piece["function"] : undefined
    const at = isJsonObject(piece) && typeof piece["index"] === "number" ? piece["index"] : 0
    if (isJsonObject(called))
      this.calls[at] = (this.calls[at] ?? "") + textOf(called["name"]) + textOf(called["arguments"])
  }

  told({ usage, failure }: HostStream): Told {
    const { text, reasoning, calls, finishes } = this
    return { text, reasoning, calls, finishes, usage, failure: failure?.reason }
  }
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "")

const bytesOf = ({ bytes }: NamedSample): Uint8Array =>
  typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes

/** What the stream says when its bytes come in these pieces. */
const read = (form: WireForm, sample: NamedSample, pieces: ReadonlyArray<Uint8Array> = [bytesOf(sample)]): Told => {
  const teller = new Teller()
  const decoder = form.decoder(requestOf(true), host)
  const watched = {
    event: (name, data) => {
      const chunks = decoder.event(name, data)
      if (!(chunks instanceof HostFailed)) teller.add(chunks)
      return chunks
    },
    end: () => {
      const chunks = decoder.end()
      teller.add(chunks)
      return chunks
    },
    ...(decoder.done === undefined ? {} : { done: () => decoder.done?.() === true }),
  } satisfies Decoder
  const stream = new HostStream({
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
  return teller.told(stream)
}

const sameAtAnyCut = (form: WireForm, sample: NamedSample): void => {
  const bytes = bytesOf(sample)
  const whole = read(form, sample)
  const cuts = [oneByOne(bytes), ...[1, 2, 3, 4, 5].map((seed) => atRandom(bytes, seed))]
  for (const [at, pieces] of cuts.entries()) {
    const told = read(form, sample, pieces)
    must(
      isDeepStrictEqual(told, whole),
      `${sample.name} in one piece says ${shown(whole)}, cut ${at === 0 ? "into single bytes" : "at random places"} ${shown(told)}: ` +
        "is there state outside of what decoder() makes for each answer",
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

const endsOnce = (form: WireForm, sample: NamedSample): void => {
  const { finishes, failure } = read(form, sample)
  must(failure === undefined, `${sample.name} is read as a failure of the host ("${failure}")`, contract)
  const places = finishes.map(({ index }) => index)
  must(places.length > 0, `${sample.name} has no chunk with a finish_reason`, "ChatChunkChoice.finish_reason")
  must(
    new Set(places).size === places.length,
    `${sample.name} ends more than once: ${shown(finishes)}`,
    "ChatChunkChoice.finish_reason: one per choice",
  )
}

const counted = (form: WireForm, sample: NamedSample): void => {
  const { usage } = read(form, sample)
  must(
    usage !== undefined,
    `No chunk of ${sample.name} has a usage: the caller would be billed by an estimate`,
    "ChatChunk.usage; G5",
  )
  must(
    parseUsage(usage) !== undefined,
    `The usage ${shown(usage)} of ${sample.name} is not accepted`,
    "ChatChunk.usage; G5",
  )
}

const saysAll = (form: WireForm, sample: NamedSample): void => {
  const { text, finishes } = read(form, sample)
  const { text: expected, finishReason } = sample.expects
  must(
    (text[0] ?? "") === expected,
    `${sample.name} says ${shown(text[0] ?? "")}, expected ${shown(expected)}`,
    contract,
  )
  const reason = finishes.find(({ index }) => index === 0)?.reason
  must(
    finishReason === undefined || reason === finishReason,
    `${sample.name} ends with ${shown(reason)}, expected ${shown(finishReason)}`,
    "FinishReason",
  )
}

/** Exchanged text passes by the decoder, so the form may only claim to be transparent where that makes no difference. */
const transparent = (form: WireForm, sample: NamedSample): void => {
  if (form.transparent !== true) return
  const written = (isTransparent: boolean): string => {
    const stream = new HostStream({
      decoder: form.decoder(requestOf(true), host),
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
    `The form claims to be transparent, but its decoder makes ${shown(decoded)} of what passes untouched as ${shown(exchanged)}`,
    "WireForm.transparent",
  )
}
