/** Checks of `Protocol.decode` and `Protocol.decoder` with invalid answers. */
import * as FastCheck from "effect/FastCheck"
import { HostFailed } from "../../domain/failures/Failure.ts"
import { isJsonObject } from "../../domain/json/json.ts"
import type { Protocol } from "../../formats/Protocol.ts"
import { expectedOfAnswer, expectedOfChunks } from "../../plugin/checks/shapes.ts"
import { attempt, type Check, must, shown } from "../Check.ts"
import { anyJson, contextOf, forAll, framed, head, mutated, noAnswers } from "../samples.ts"
import { answerBody, type ProtocolSubject } from "../subject.ts"
import { type Event, eventsOf, streamOf } from "./frames.ts"

const contractOfDecode = "Protocol.decode"
const contractOfDecoder = "Protocol.decoder, Decoder"

export const answerChecks = (subject: ProtocolSubject): ReadonlyArray<Check> => [
  {
    name: `${subject.name}: decode() never throws and never gives half an answer`,
    run: async () => {
      const known = await answerBody(subject)
      const protocol = subject.protocol()
      forAll(known === undefined ? anyJson : FastCheck.oneof(anyJson, mutated(known)), (body) => {
        isWholeAnswer(decoded(protocol, body))
      })
    },
  },
  {
    name: `${subject.name}: decode() refuses what is no answer`,
    run: () => {
      const protocol = subject.protocol()
      for (const body of noAnswers) isRefused(decoded(protocol, body), `decode() of ${shown(body)}`)
    },
  },
  {
    name: `${subject.name}: the decoder never throws and never gives half a chunk`,
    run: () => {
      const protocol = subject.protocol()
      for (const events of [[], ...subject.streams.map((sample) => eventsOf(protocol, sample))]) {
        forAll(FastCheck.oneof(FastCheck.array(anyEvent, { maxLength: 6 }), mutatedEvents(events)), (broken) =>
          isWellDecoded(protocol, broken),
        )
      }
    },
  },
  {
    name: `${subject.name}: the decoder makes no answer of a stream that has none`,
    run: () => {
      for (const event of noAnswers) givesNoAnswer(subject.protocol(), event)
    },
  },
]

const decoded = (protocol: Protocol, body: unknown): unknown =>
  attempt(
    () => `decode() of ${shown(body)}`,
    contractOfDecode,
    () => protocol.decode(head, body, contextOf(false)),
  )

const anyEvent: FastCheck.Arbitrary<Event> = FastCheck.tuple(
  FastCheck.constantFrom("", "message", "error", "message_start", "content_block_start", "message_delta"),
  anyJson,
)

/** Recorded events of which some are changed, lost or reordered. */
const mutatedEvents = (events: ReadonlyArray<Event>): FastCheck.Arbitrary<ReadonlyArray<Event>> =>
  FastCheck.shuffledSubarray([...events.keys()]).chain((kept) =>
    FastCheck.tuple(FastCheck.boolean(), mutated(events.map(([, data]) => data))).map(([inOrder, data]) => {
      const order = inOrder ? kept.toSorted((a, b) => a - b) : kept
      return order.map((at) => [events[at]?.[0] ?? "", Array.isArray(data) ? data[at] : data])
    }),
  )

const isWellDecoded = (protocol: Protocol, events: ReadonlyArray<Event>): void => {
  const decoder = attempt("decoder()", contractOfDecoder, () => protocol.decoder(head, contextOf(true)))
  for (const [name, data] of events) {
    const what = () => `The decoder's event(${shown(name)}, ${shown(data)})`
    const chunks = attempt(what, contractOfDecoder, () => decoder.event(name, data))
    if (chunks instanceof HostFailed) return
    areChunks(chunks, what)
    if (attempt("The decoder's done()", contractOfDecoder, () => decoder.done?.()) === true) break
  }
  const rest = attempt("The decoder's end()", contractOfDecoder, () => decoder.end())
  if (!(rest instanceof HostFailed)) areChunks(rest, () => "The decoder's end()")
}

const givesNoAnswer = (protocol: Protocol, event: unknown): void => {
  const stream = streamOf(protocol)
  attempt(`The decoder, given ${shown(event)} and the end of the stream,`, contractOfDecoder, () => {
    stream.push(framed[protocol.framing](JSON.stringify(event)))
    stream.end()
  })
  must(
    stream.state === "failed",
    `The decoder takes ${shown(event)} for an answer: a stream of that alone must end as a failure, so that another host is tried`,
    contractOfDecoder,
  )
}

const refusals: ReadonlySet<string> = new Set(["malformed", "overloaded", "unreachable"])

const isRefused = (answer: unknown, what: string): void => {
  must(answer instanceof HostFailed, `${what} is taken for an answer: ${shown(answer)}`, contractOfDecode)
  must(
    refusals.has(answer.reason),
    `${what} is "${answer.reason}"; a body that is no answer is "malformed", so that another host is tried`,
    contractOfDecode,
  )
}

/** Throws unless `answer` is a whole canonical answer, or a failure. */
const isWholeAnswer = (answer: unknown): void => {
  if (answer instanceof HostFailed) return
  const expected = expectedOfAnswer(answer)
  must(expected === undefined, () => `decode() gave ${shown(answer)}; it must return ${expected}`, "ChatResponse")
  const choices: ReadonlyArray<unknown> =
    isJsonObject(answer) && Array.isArray(answer["choices"]) ? answer["choices"] : []
  for (const choice of choices) {
    const message = isJsonObject(choice) ? choice["message"] : undefined
    must(
      isJsonObject(message) && message["role"] === "assistant",
      () => `decode() gave ${shown(answer)}: a message that is not the assistant's`,
      "ChatMessage.role",
    )
  }
  attempt("Writing the answer as JSON", "ChatResponse", () => JSON.stringify(answer))
}

const areChunks = (chunks: unknown, what: () => string): void => {
  const expected = expectedOfChunks(chunks)
  must(expected === undefined, () => `${what()} gave ${shown(chunks)}; it must return ${expected}`, "ChatChunk")
  attempt("Writing the chunks as JSON", "ChatChunk", () => JSON.stringify(chunks))
}
