/** Requests and answers of the bench, shared by the host that sends them and the callers that check them. */

/** How the host streams. */
export interface Pace {
  /** Text chunks, about 250 bytes each. */
  readonly chunks: number
  readonly intervalMs: number
  /** Whether the first text is the host's own time to it, in milliseconds, in place of a word. */
  readonly timed?: boolean
}

/** Models of the gateway, each with the pace of its streams. */
export const models = {
  /** For processor time: as fast as models write. */
  "bench/brisk": { chunks: 100, intervalMs: 20 },
  /** The same with one host in place of two. */
  "bench/one-host": { chunks: 100, intervalMs: 20 },
  /** For memory: a thousand streams at once that leave the processor free. */
  "bench/slow": { chunks: 9, intervalMs: 200 },
  /** For the time to the first token. */
  "bench/timed": { chunks: 10, intervalMs: 20, timed: true },
} as const satisfies Record<string, Pace>

export type Model = keyof typeof models

/** What the host calls itself in its answers. */
const hostModel = "bench-model-2025-08-07"
const id = "chatcmpl-Bq7RkZ0vXo2mTn5cYd8sLw1hFp4Ga"
const created = 1_760_000_000
const usage = {
  prompt_tokens: 152,
  completion_tokens: 100,
  total_tokens: 252,
  prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
  completion_tokens_details: {
    reasoning_tokens: 0,
    audio_tokens: 0,
    accepted_prediction_tokens: 0,
    rejected_prediction_tokens: 0,
  },
}

const words = [
  "the",
  " gate",
  " at",
  " the",
  " head",
  " of",
  " a",
  " channel",
  " decides",
  ",",
  " how",
  " much",
  ' "water"',
  " flows",
]

const word = (index: number): string => words[index % words.length] ?? ""

/** The text that a stream of `chunks` text chunks adds up to. */
export const streamedText = (chunks: number): string =>
  Array.from({ length: chunks }, (_, index) => word(index)).join("")

const wholeText = streamedText(100)

/** A non-streaming answer, about 1 kB of JSON. */
export const wholeAnswer = (): string =>
  JSON.stringify({
    id,
    object: "chat.completion",
    created,
    model: hostModel,
    choices: [
      {
        index: 0,
        message: { role: "assistant", content: wholeText, refusal: null, annotations: [] },
        logprobs: null,
        finish_reason: "stop",
      },
    ],
    usage,
    service_tier: "default",
    system_fingerprint: "fp_5d3a1c9b72",
  })

/** The same answer of a host of the Messages form. */
export const messagesAnswer = (): string =>
  JSON.stringify({
    id,
    type: "message",
    role: "assistant",
    model: hostModel,
    content: [{ type: "text", text: wholeText }],
    stop_reason: "end_turn",
    stop_sequence: null,
    usage: { input_tokens: 152, output_tokens: 100 },
  })

/** Whether `body` carries that answer's text. A proxy may add members of its own. */
export const isWholeAnswer = (body: string): boolean => body.includes(JSON.stringify(wholeText))

const event = (choices: ReadonlyArray<unknown>, counted: unknown): string =>
  `data: ${JSON.stringify({
    id,
    object: "chat.completion.chunk",
    created,
    model: hostModel,
    system_fingerprint: "fp_5d3a1c9b72",
    choices,
    usage: counted,
  })}\n\n`

const delta = (content: Readonly<Record<string, unknown>>, finish: string | null): string =>
  event([{ index: 0, delta: content, logprobs: null, finish_reason: finish }], null)

const encoder = new TextEncoder()

/** The event that carries this text. */
export const textEvent = (text: string): Uint8Array => encoder.encode(delta({ content: text }, null))

export interface StreamScript {
  /** Sent at once. */
  readonly head: Uint8Array
  /** Sent one by one, an interval apart. */
  readonly chunks: ReadonlyArray<Uint8Array>
  /** Finish, usage and `[DONE]`, sent together an interval after the last chunk. */
  readonly tail: Uint8Array
  readonly intervalMs: number
  readonly timed: boolean
}

export const streamScript = ({ chunks, intervalMs, timed = false }: Pace): StreamScript => ({
  head: encoder.encode(delta({ role: "assistant", content: "", refusal: null }, null)),
  chunks: Array.from({ length: chunks }, (_, index) => textEvent(word(index))),
  tail: encoder.encode(`${delta({}, "stop")}${event([], usage)}data: [DONE]\n\n`),
  intervalMs,
  timed,
})

const named = (type: string, members: Readonly<Record<string, unknown>>): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`

/** The same stream as a host of the Messages form writes it. Its chunks are about 120 bytes each. */
export const messagesScript = ({ chunks, intervalMs }: Pace): StreamScript => {
  const counted = { input_tokens: 152, output_tokens: 1 }
  const message = { id, type: "message", role: "assistant", model: hostModel, content: [], usage: counted }
  const piece = (index: number) =>
    named("content_block_delta", { index: 0, delta: { type: "text_delta", text: word(index) } })
  const delta = { stop_reason: "end_turn", stop_sequence: null }
  return {
    head: encoder.encode(
      named("message_start", { message }) +
        named("content_block_start", { index: 0, content_block: { type: "text", text: "" } }),
    ),
    chunks: Array.from({ length: chunks }, (_, index) => encoder.encode(piece(index))),
    tail: encoder.encode(
      named("content_block_stop", { index: 0 }) +
        named("message_delta", { delta, usage: { output_tokens: 100 } }) +
        named("message_stop", {}),
    ),
    intervalMs,
    timed: false,
  }
}

/** A caller's body, about 1 kB: a system prompt, a short exchange and the usual parameters. */
export const requestBody = (model: Model, stream: boolean): string =>
  JSON.stringify({
    model,
    messages: [
      { role: "system", content: `You look after a weir. ${"Answer in plain words and keep it short. ".repeat(10)}` },
      { role: "user", content: "How much water goes down the left channel today?" },
      { role: "assistant", content: "A third of it, as long as the level stays above the second mark." },
      { role: "user", content: "And what does the headgate do when the river rises over night?" },
    ],
    temperature: 0.7,
    max_tokens: 256,
    ...(stream ? { stream: true, stream_options: { include_usage: true } } : {}),
  })
