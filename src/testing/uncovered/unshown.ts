/** What no sample of a protocol shows. The gateway's own protocols are tested with the gateway. */
import { isDeepStrictEqual } from "node:util"
import * as Either from "effect/Either"
import { HostFailed } from "../../domain/failures/Failure.ts"
import { isJsonObject } from "../../domain/json/json.ts"
import { parseUsage } from "../../domain/price/Usage.ts"
import type { ChatPayload } from "../../domain/request/chat.ts"
import { isOurs } from "../../formats/ownProtocols.ts"
import { waitIn } from "../answers/errors.ts"
import { eventsOf } from "../answers/frames.ts"
import { answersRead, callsOf, idsGiven } from "../answers/identity.ts"
import { signaturesIn } from "../answers/Outcome.ts"
import { followed } from "../answers/streams.ts"
import { encodedBy } from "../requests/encoding.ts"
import { chatRequest, contextOf, head, marks } from "../samples.ts"
import { isLacking, type NamedAnswer, type ProtocolSubject } from "../subject.ts"
import type { NotCovered } from "./Row.ts"

export const unshown = async (given: ProtocolSubject): Promise<ReadonlyArray<NotCovered>> => {
  if (isOurs(given.protocol())) return []
  try {
    return [
      ...ends(given),
      ...calls(given),
      ...choices(given),
      ...usages(given),
      ...failures(given),
      ...last(given),
    ].map(([what, how]) => ({ of: given.name, what, how }))
  } catch {
    // Another check reports what is wrong.
    return []
  }
}

type Row = readonly [what: string, how: string]

const sampleOf = (what: string, members = "`answers` or `streams`") => `Give a sample of ${what} in ${members}.`

const ends = (given: ProtocolSubject): ReadonlyArray<Row> => {
  const seen = new Set(
    answersRead(given).flatMap(({ read }) => read().choices.flatMap((choice) => choice?.finishes ?? [])),
  )
  const rows: Array<Row> = []
  if (!seen.has("length")) rows.push(["an answer that the bound of the output ended (`length`)", sampleOf("one")])
  if (!seen.has("content_filter"))
    rows.push(["an answer that the vendor's filter ended (`content_filter`)", sampleOf("one")])
  return rows
}

const calls = (given: ProtocolSubject): ReadonlyArray<Row> => {
  if (isLacking(given.subject, "tools")) return []
  const rows: Array<Row> = []
  const streams = given.streams.filter(({ expects }) => expects.failure === undefined)
  const isApart = streams.some((sample) => {
    const { calling, finishing } = followed(given.protocol(), eventsOf(given.protocol(), sample))
    return calling.includes(true) && finishing.indexOf(true) > calling.lastIndexOf(true)
  })
  if (!isApart)
    rows.push([
      "a stream whose finish comes in an event after its calls",
      sampleOf("calls whose finish has an event of its own", "`streams`"),
    ])
  const read = answersRead(given)
  const made = read.flatMap(({ read: reads, raw }) =>
    callsOf(reads()).map(({ name }) => idsGiven(raw, name).length > 0),
  )
  if (!made.includes(true))
    rows.push([
      "a call with an id of the host's",
      sampleOf("one", "`answers` or `streams`, if the vendor ever gives ids"),
    ])
  if (
    !isLacking(given.subject, "reasoning") &&
    !isLacking(given.subject, "reasoning in history") &&
    !read.some(({ read: reads }) => signaturesIn(reads().choices.flatMap((choice) => choice?.details ?? [])).length > 0)
  )
    rows.push([
      "signed or encrypted reasoning, which goes back in later turns",
      `${sampleOf("it")} Where the vendor has none: \`lacks: ["reasoning in history"]\`.`,
    ])
  return rows
}

const said: ChatPayload["messages"] = [{ role: "user", content: marks.last }]

const choices = (given: ProtocolSubject): ReadonlyArray<Row> => {
  const encoded = encodedBy(given, chatRequest(false, { messages: said, n: 2 }))
  if (Either.isLeft(encoded) || (encoded.right.dropped ?? []).includes("n")) return []
  const isShown = answersRead(given).some(
    ({ read }) => read().choices.filter((choice) => choice !== undefined).length > 1,
  )
  return isShown ? [] : [["several choices, which `n` asks for", sampleOf("two choices")]]
}

// --- usage

const usages = (given: ProtocolSubject): ReadonlyArray<Row> => {
  if (isLacking(given.subject, "usage")) return []
  const rows: Array<Row> = []
  const reports = given.streams.map((sample) => reportsIn(given, sample))
  const isTold = reports.some((totals) => totals.length > 0 && totals.at(-1) !== Math.max(...totals))
  if (!isTold && reports.some((totals) => new Set(totals).size > 1))
    rows.push([
      "which of several usage reports counts: in each sample the last one is the largest",
      sampleOf("a stream whose usage shrinks", "`streams`, if the vendor sends such"),
    ])
  const audio: ChatPayload["messages"] = [
    { role: "user", content: [{ type: "input_audio", input_audio: { data: "AAAA", format: "wav" } }] },
  ]
  const takesAudio = Either.isRight(encodedBy(given, chatRequest(false, { messages: audio })))
  const counts = answersRead(given).flatMap(({ read }) => parseUsage(read().usage) ?? [])
  if (takesAudio && !counts.some(({ promptAudioTokens }) => promptAudioTokens > 0))
    rows.push([
      "tokens of audio in the usage, which have a price of their own",
      sampleOf("an answer to a request with audio"),
    ])
  const idle = [...new Set(given.answers.flatMap((sample) => idleCounts(given, sample)))]
  if (idle.length > 0)
    rows.push([
      `counts in the samples that change nothing of the usage: ${idle.join(", ")}`,
      "Compare with the vendor's document, whether they are billed.",
    ])
  return rows
}

/** The totals of the usage reports of a stream, in their order. */
const reportsIn = (given: ProtocolSubject, sample: ProtocolSubject["streams"][number]): ReadonlyArray<number> => {
  const decoder = given.protocol().decoder(head, contextOf(true))
  const totals: Array<number> = []
  for (const [name, data] of eventsOf(given.protocol(), sample)) {
    const chunks = decoder.event(name, data)
    if (chunks instanceof HostFailed) return totals
    for (const { usage } of chunks) {
      const read = parseUsage(usage)
      if (read !== undefined) totals.push(read.promptTokens + read.completionTokens)
    }
  }
  return totals
}

/** Counts of a whole answer whose change makes no difference to its usage. */
const idleCounts = (given: ProtocolSubject, { body, expects }: NamedAnswer): ReadonlyArray<string> => {
  if (expects.failure !== undefined) return []
  const usageOf = (json: unknown) => {
    const answer = given.protocol().decode(head, json, contextOf(false))
    return answer instanceof HostFailed ? undefined : parseUsage(answer.usage)
  }
  const before = usageOf(body)
  return countsWithin(body).flatMap(({ path, changed }) =>
    isDeepStrictEqual(before, usageOf(changed)) ? [path.join(".")] : [],
  )
}

interface Count {
  readonly path: ReadonlyArray<string>
  /** The whole body with another value there. */
  readonly changed: unknown
}

/** Numbers whose names speak of tokens, but for totals. */
const countsWithin = (value: unknown, path: ReadonlyArray<string> = []): ReadonlyArray<Count> => {
  if (typeof value === "number") {
    const last = path.at(-1) ?? ""
    const isCount = Number.isInteger(value) && path.some((name) => /tok|usage/i.test(name))
    return isCount && !/total|index|^\d+$/i.test(last) ? [{ path, changed: value + 3 }] : []
  }
  if (!isJsonObject(value) && !Array.isArray(value)) return []
  return Object.entries(value).flatMap(([name, member]) =>
    countsWithin(member, [...path, name]).map((count) => ({
      path: count.path,
      changed: Array.isArray(value) ? value.with(Number(name), count.changed) : { ...value, [name]: count.changed },
    })),
  )
}

// --- failures and the end

const failures = (given: ProtocolSubject): ReadonlyArray<Row> => {
  const rows: Array<Row> = []
  if (!given.answers.some(({ expects }) => expects.failure !== undefined))
    rows.push(["an error as the body of an answer with status 200", "Give one in `answers`, with `expects.failure`."])
  const failing = given.streams.filter(({ expects }) => expects.failure !== undefined)
  if (failing.length === 0) rows.push(["an error within a stream", "Give one in `streams`, with `expects.failure`."])
  else if (
    !isLacking(given.subject, "waits") &&
    !failing.some((sample) => waitIn({}, eventsOf(given.protocol(), sample)) !== undefined)
  )
    rows.push(["the time to wait in an error within a stream", sampleOf("a rate limit within a stream", "`streams`")])
  return rows
}

const last = (given: ProtocolSubject): ReadonlyArray<Row> => {
  const hasDone = given.protocol().decoder(head, contextOf(true)).done !== undefined
  const hasMarker = given.streams.some(({ bytes }) =>
    (typeof bytes === "string" ? bytes : new TextDecoder().decode(bytes)).includes("[DONE]"),
  )
  return hasDone || hasMarker
    ? []
    : [
        [
          "whether the protocol has a last event: without `done` a stream is over when the host closes the connection",
          "Compare with the vendor's document.",
        ],
      ]
}
