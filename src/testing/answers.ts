/** Checks of `WireForm.response` and `WireForm.decoder` against what no host should send. G10. */
import * as FastCheck from "effect/FastCheck"
import { HostFailed } from "../domain/Failure.ts"
import { isJsonObject } from "../domain/Json.ts"
import type { WireForm } from "../wire/Form.ts"
import { HostStream } from "../wire/hostStream.ts"
import { sseEvent, sseReader } from "../wire/sse.ts"
import { attempt, type Check, must, shown } from "./check.ts"
import { anyJson, forAll, host, noAnswers, requestOf, spoiled } from "./samples.ts"
import { answerBody, type FormSubject } from "./subject.ts"

const contractOfResponse = "WireForm.response; G10"
const contractOfDecoder = "WireForm.decoder, Decoder; G10"

export const answerChecks = (subject: FormSubject): ReadonlyArray<Check> => [
  {
    name: `${subject.operation}: response() never throws and never gives half an answer`,
    run: async () => {
      const known = await answerBody(subject)
      const { response } = subject.form()
      forAll(known === undefined ? anyJson : FastCheck.oneof(anyJson, spoiled(known)), (body) => {
        wellFormedResponse(
          attempt(
            () => `response() of ${shown(body)}`,
            contractOfResponse,
            () => response(body, requestOf(false), host),
          ),
        )
      })
    },
  },
  {
    name: `${subject.operation}: response() refuses what is no answer`,
    run: () => {
      const { response } = subject.form()
      for (const body of noAnswers) {
        const what = `response() of ${shown(body)}`
        refused(
          attempt(what, contractOfResponse, () => response(body, requestOf(false), host)),
          what,
        )
      }
    },
  },
  {
    name: `${subject.operation}: the decoder never throws and never gives half a chunk`,
    run: () => {
      const { decoder } = subject.form()
      for (const events of [[], ...subject.streams.map(({ bytes }) => eventsOf(bytes))]) {
        forAll(FastCheck.oneof(FastCheck.array(anyEvent, { maxLength: 6 }), spoiledEvents(events)), (broken) =>
          wellDecoded(decoder, broken),
        )
      }
    },
  },
  {
    name: `${subject.operation}: the decoder makes no answer of a stream that has none`,
    run: () => {
      for (const event of noAnswers) noAnswerFrom(subject, event)
    },
  },
]

type Event = readonly [name: string, data: unknown]

const anyEvent: FastCheck.Arbitrary<Event> = FastCheck.tuple(
  FastCheck.constantFrom("", "message", "error", "message_start", "content_block_start", "message_delta"),
  anyJson,
)

/** Recorded events with some of them spoiled, lost or out of their order. */
const spoiledEvents = (events: ReadonlyArray<Event>): FastCheck.Arbitrary<ReadonlyArray<Event>> =>
  FastCheck.shuffledSubarray([...events.keys()]).chain((kept) =>
    FastCheck.tuple(FastCheck.boolean(), spoiled(events.map(([, data]) => data))).map(([inOrder, data]) => {
      const order = inOrder ? kept.toSorted((a, b) => a - b) : kept
      return order.map((at) => [events[at]?.[0] ?? "", Array.isArray(data) ? data[at] : data])
    }),
  )

/** The events in a stream's bytes that are JSON. */
const eventsOf = (bytes: string | Uint8Array): ReadonlyArray<Event> => {
  const reader = sseReader()
  const frames = [...reader.push(typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes), ...reader.end()]
  return frames.flatMap(({ event, data }): ReadonlyArray<Event> => {
    try {
      return [[event, JSON.parse(data)]]
    } catch {
      return []
    }
  })
}

const wellDecoded = (decoderOf: WireForm["decoder"], events: ReadonlyArray<Event>): void => {
  const decoder = attempt("decoder()", contractOfDecoder, () => decoderOf(requestOf(true), host))
  for (const [name, data] of events) {
    const what = () => `The decoder's event(${shown(name)}, ${shown(data)})`
    const chunks = attempt(what, contractOfDecoder, () => decoder.event(name, data))
    if (chunks instanceof HostFailed) return
    wellFormedChunks(chunks, what)
    if (attempt("The decoder's done()", contractOfDecoder, () => decoder.done?.()) === true) break
  }
  const rest = attempt("The decoder's end()", contractOfDecoder, () => decoder.end())
  wellFormedChunks(rest, () => "The decoder's end()")
}

const noAnswerFrom = ({ form }: FormSubject, event: unknown): void => {
  const { decoder } = form()
  const stream = new HostStream({
    decoder: decoder(requestOf(true), host),
    writer: { chunk: () => "" },
    transparent: false,
    excludeReasoning: false,
    choices: 1,
  })
  attempt(`The decoder, given ${shown(event)} and the end of the stream,`, contractOfDecoder, () => {
    stream.push(new TextEncoder().encode(sseEvent(JSON.stringify(event))))
    stream.end()
  })
  must(
    stream.state === "failed",
    `The decoder takes ${shown(event)} for an answer: a stream of that alone must end as a failure, so that another host is tried`,
    contractOfDecoder,
  )
}

const refusals: ReadonlySet<string> = new Set(["malformed", "overloaded", "unreachable"])

const refused = (answer: unknown, what: string): void => {
  must(answer instanceof HostFailed, `${what} is taken for an answer: ${shown(answer)}`, contractOfResponse)
  must(
    refusals.has(answer.reason),
    `${what} is "${answer.reason}"; a body that is no answer is "malformed", so that another host is tried`,
    contractOfResponse,
  )
}

const finishReasons: ReadonlySet<unknown> = new Set(["stop", "length", "tool_calls", "content_filter", "error", null])

/** Throws unless `answer` is a whole canonical answer, or a failure. */
export const wellFormedResponse = (answer: unknown): void => {
  if (answer instanceof HostFailed) return
  const wrong = (what: string) => () => `response() gave ${shown(answer)}: ${what}`
  must(isJsonObject(answer), wrong("neither a ChatResponse nor a HostFailed of headgate/plugin"), contractOfResponse)
  const { choices } = answer
  must(Array.isArray(choices) && choices.length > 0, wrong("no choices"), "ChatResponse.choices")
  for (const choice of choices) {
    must(isJsonObject(choice) && typeof choice["index"] === "number", wrong("a choice without index"), "ChatChoice")
    must(finishReasons.has(choice["finish_reason"]), wrong("an unknown finish_reason"), "FinishReason")
    const { message } = choice
    must(isJsonObject(message), wrong("a choice without message"), "ChatMessage")
    const { role, content } = message
    must(role === "assistant", wrong("a message that is not the assistant's"), "ChatMessage.role")
    must(content === null || typeof content === "string", wrong("a content that is no text"), "ChatMessage.content")
  }
  attempt("Writing the answer as JSON", "ChatResponse", () => JSON.stringify(answer))
}

const wellFormedChunks = (chunks: unknown, what: () => string): void => {
  must(
    Array.isArray(chunks),
    () => `${what()} gave ${shown(chunks)}, neither chunks nor a HostFailed of headgate/plugin`,
    "Decoder",
  )
  for (const chunk of chunks) {
    const wrong = (why: string) => () => `${what()} gave ${shown(chunk)}: ${why}`
    must(isJsonObject(chunk) && Array.isArray(chunk["choices"]), wrong("no choices"), "ChatChunk.choices")
    for (const choice of chunk["choices"]) {
      must(
        isJsonObject(choice) && typeof choice["index"] === "number",
        wrong("a choice without index"),
        "ChatChunkChoice",
      )
      must(finishReasons.has(choice["finish_reason"]), wrong("an unknown finish_reason"), "FinishReason")
      const { delta } = choice
      must(isJsonObject(delta), wrong("a choice without delta"), "ChatDelta")
      const { content } = delta
      must(content == null || typeof content === "string", wrong("a content that is no text"), "ChatDelta.content")
    }
    attempt("Writing the chunk as JSON", "ChatChunk", () => JSON.stringify(chunk))
  }
}
