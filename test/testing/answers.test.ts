/** The conformance kit with providers that misread their host's answers: the check of that place fails. */
import { expect, test } from "bun:test"
import {
  type ChatChunk,
  type ChatUsage,
  type Decoder,
  defineProvider,
  HostFailed,
  type Protocol,
} from "headgate/plugin"
import { type ProviderSubject, providerChecks } from "headgate/testing"
import {
  type Broken,
  bytes,
  chat,
  definition,
  failureOf,
  provider,
  subject,
  usage,
  wholeOf,
  withProtocol,
} from "./acme.ts"

/** The good decoder, with each chunk changed. */
const decoding = (change: (chunk: ChatChunk) => ChatChunk) =>
  withProtocol({
    transparent: false,
    decoder: (head, context) => {
      const decoder = chat.decoder(head, context)
      const changed = (chunks: ReturnType<Decoder["event"]>) =>
        chunks instanceof HostFailed ? chunks : chunks.map(change)
      return { event: (name, data) => changed(decoder.event(name, data)), end: decoder.end }
    },
  })

const finishes = ({ choices }: ChatChunk) => choices.some(({ finish_reason: reason }) => reason !== null)

/** One decoder for all answers: its text shows how many events it has seen in total. */
const shared = (): Protocol => {
  let seen = 0
  return {
    ...chat,
    transparent: false,
    decoder: (head, context) => {
      const decoder = chat.decoder(head, context)
      return {
        ...decoder,
        event: (name, data) => {
          seen += 1
          const chunks = decoder.event(name, data)
          if (chunks instanceof HostFailed || seen <= 5) return chunks
          return chunks.map((chunk) => ({
            ...chunk,
            choices: chunk.choices.map((choice) => ({ ...choice, delta: { ...choice.delta, content: `${seen}` } })),
          }))
        },
      }
    },
  }
}

/** Returns nothing before the finish. */
const hoarding = (): Partial<Protocol> => ({
  transparent: false,
  decoder: (head, context) => {
    const decoder = chat.decoder(head, context)
    const kept: Array<ChatChunk> = []
    return {
      event: (name, data) => {
        const chunks = decoder.event(name, data)
        if (chunks instanceof HostFailed) return chunks
        kept.push(...chunks)
        return []
      },
      end: () => kept.splice(0),
    }
  },
})

/** A running estimate with the first event, which is more than what the host counts at the end. */
const reporting = (estimate: ChatUsage): Partial<Protocol> => ({
  transparent: false,
  decoder: (head, context) => {
    const decoder = chat.decoder(head, context)
    let isFirst = true
    return {
      ...decoder,
      event: (name, data) => {
        const chunks = decoder.event(name, data)
        if (chunks instanceof HostFailed || !isFirst) return chunks
        isFirst = false
        return chunks.map((chunk) => ({ ...chunk, usage: estimate }))
      },
    }
  },
})

/** The stream sample, with this usage expected of it. */
const expecting = (of: ProviderSubject, counted: ChatUsage | null): ProviderSubject => ({
  ...of,
  streams: [{ name: "words", bytes, expects: { text: "hi thère now", counted } }],
})

const finish = { finish_reason: "stop", native_finish_reason: null } as const

/** Reads counts without checking them. */
const countedBy = (body: unknown): string | undefined => Object(body).usage?.prompt_tokens.toFixed()

const deep = (value: unknown): number =>
  typeof value === "object" && value !== null ? 1 + Math.max(0, ...Object.values(value).map(deep)) : 0

const brokenProviders: ReadonlyArray<Broken<ProviderSubject>> = [
  [
    "chat: decode() never throws and never gives half an answer",
    "a decode() that trusts its host",
    withProtocol({
      decode: (head, body, context) => {
        countedBy(body)
        return chat.decode(head, body, context)
      },
    }),
    "threw",
  ],
  [
    "chat: decode() never throws and never gives half an answer",
    "an answer that is passed on as it is",
    withProtocol({
      decode: (head, body, context) => {
        const read = chat.decode(head, body, context)
        if (read instanceof HostFailed) return read
        return { ...read, choices: [{ index: 0, ...finish, message: Object(body).choices[0].message }] }
      },
    }),
    "decode() gave",
  ],
  [
    "chat: decode() refuses what is no answer",
    "an empty answer out of nothing",
    withProtocol({
      decode: (head, body, context) => {
        const read = chat.decode(head, body, context)
        return deep(body) === 0 && read instanceof HostFailed
          ? {
              choices: [
                {
                  index: 0,
                  finish_reason: "stop",
                  native_finish_reason: null,
                  message: { role: "assistant", content: "" },
                },
              ],
            }
          : read
      },
    }),
    "taken for an answer",
  ],
  [
    "chat: decode() refuses what is no answer",
    "the caller's fault",
    withProtocol({
      decode: (head, body, context) => {
        const read = chat.decode(head, body, context)
        return read instanceof HostFailed && read.reason === "malformed" ? new HostFailed({ reason: "request" }) : read
      },
    }),
    '"malformed"',
  ],
  [
    "chat: the decoder never throws and never gives half a chunk",
    "a decoder that trusts its host",
    withProtocol({
      decoder: (head, context) => {
        const decoder = chat.decoder(head, context)
        return {
          ...decoder,
          event: (name, data) => {
            countedBy(data)
            return decoder.event(name, data)
          },
        }
      },
    }),
    "threw",
  ],
  [
    "chat: the decoder makes no answer of a stream that has none",
    "a finish out of nothing",
    withProtocol({
      decoder: (head, context) => {
        const decoder = chat.decoder(head, context)
        return {
          ...decoder,
          event: (name, data) =>
            deep(data) === 0
              ? [{ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }]
              : decoder.event(name, data),
        }
      },
    }),
    "takes null for an answer",
  ],
  [
    "chat: words reads the same however its bytes are cut",
    "state that outlives an answer",
    {
      ...subject,
      plugin: defineProvider({ ...definition, load: () => ({ ...provider, protocols: { chat: shared() } }) }),
    },
    "state outside",
  ],
  [
    "chat: words ends once",
    "a second finish",
    decoding((chunk) => (finishes(chunk) ? { ...chunk, choices: [...chunk.choices, ...chunk.choices] } : chunk)),
    "more than once",
  ],
  ["chat: words is counted", "a usage that is lost", decoding(({ usage: _, ...chunk }) => chunk), "estimate"],
  [
    "chat: words is counted",
    "a usage that is none",
    decoding((chunk) => (chunk.usage === undefined ? chunk : { ...chunk, usage: { tokens: 3 } })),
    "not accepted",
  ],
  [
    "chat: words is counted",
    "a zero that is left out",
    decoding((chunk) => (chunk.usage === undefined ? chunk : { ...chunk, usage: { prompt_tokens: 9 } })),
    "completion_tokens is missing",
  ],
  [
    "chat: words is counted",
    "a total that is a text",
    decoding((chunk) =>
      chunk.usage === undefined ? chunk : { ...chunk, usage: { ...chunk.usage, prompt_tokens: "9" } },
    ),
    "prompt_tokens is no whole number",
  ],
  [
    "chat: words is counted",
    "another count than the host's",
    expecting(subject, { prompt_tokens: 9, completion_tokens: 3 }),
    'expected {"prompt_tokens":9,"completion_tokens":3}',
  ],
  [
    "chat: words is counted",
    "a part that is lost",
    expecting(subject, { ...usage, completion_tokens_details: { reasoning_tokens: 1 } }),
    "reasoning_tokens",
  ],
  [
    "chat: words is counted",
    "a count where the host has none",
    expecting(subject, null),
    "expected nothing that counts",
  ],
  [
    "chat: words is counted",
    "the first of two reports where the last one counts",
    expecting(withProtocol({ ...reporting({ prompt_tokens: 9, completion_tokens: 40 }), usage: "largest" }), usage),
    'counted as {"prompt_tokens":9,"completion_tokens":40}',
  ],
  [
    "chat: words is counted",
    "an expectation that is none",
    expecting(subject, { prompt_tokens: 9 }),
    "has no valid totals",
  ],
  [
    "chat: words comes to what is expected",
    "text that is changed",
    decoding((chunk) => ({
      ...chunk,
      choices: chunk.choices.map((choice) => ({
        ...choice,
        delta: { ...choice.delta, content: choice.delta.content?.toUpperCase() ?? null },
      })),
    })),
    "HI THÈRE NOW",
  ],
  [
    "chat: words comes to what is expected",
    "another reason",
    { ...subject, streams: [{ name: "words", bytes, expects: { text: "hi thère now", finishReason: "length" } }] },
    '"length"',
  ],
  [
    "chat: a whole answer comes through the gateway, counted by its host",
    "an answer that is an error",
    { ...subject, answer: () => Response.json({ error: { message: "no" } }, { status: 500 }) },
    "500",
  ],
  [
    "chat: a whole answer comes through the gateway, counted by its host",
    "an answer without usage",
    { ...subject, answer: () => wholeOf({}) },
    "estimate",
  ],
  [
    "chat: a stream is passed on as it comes, and the call ends when the caller leaves",
    "a decoder that holds everything back",
    withProtocol(hoarding()),
    "holds its chunks back",
  ],
]

test.each<[string, ProviderSubject]>([
  ["the host's own count", expecting(subject, usage)],
  [
    "the last of two reports, which is the smaller one",
    expecting(withProtocol({ ...reporting({ prompt_tokens: 9, completion_tokens: 40 }), usage: "last" }), usage),
  ],
  [
    "no count at all, where the sample says so",
    expecting(
      decoding(({ usage: _, ...chunk }) => chunk),
      null,
    ),
  ],
])("a stream that is counted as expected passes: %s", async (_, given) => {
  expect(await failureOf(await providerChecks(given), "chat: words is counted")).toBeUndefined()
})

test.each([...brokenProviders])("%s: %s", async (check, _, broken, says) => {
  expect(await failureOf(await providerChecks(broken), check)).toContain(says)
})
