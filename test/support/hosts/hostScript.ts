/**
 * Random streams that a host of the chat form might send: what it says, in one of the many ways in which hosts write
 * it.
 */
import * as FastCheck from "effect/FastCheck"

/** How a host writes its chunks. It may change in the middle of a stream. */
export interface Manner {
  /** `", "` and `": "`, as Python writes JSON. */
  readonly spaced: boolean
  /** Everything but ASCII as `\uXXXX`, as Python does too. */
  readonly ascii: boolean
  readonly role: boolean
  /** Members whose text is different in every chunk. */
  readonly obfuscation: boolean
  readonly usage: "none" | "null" | "running"
  readonly fingerprint: boolean
  /** The finish reason stands before the delta. */
  readonly finishFirst: boolean
  /** A member that has the form of a choice, and the text of this one, but is none. */
  readonly decoy: boolean
  readonly lineEnd: "\n" | "\r\n" | "\r"
  readonly afterColon: "" | " "
  readonly comment: boolean
}

export const plainManner: Manner = {
  spaced: false,
  ascii: false,
  role: false,
  obfuscation: false,
  usage: "none",
  fingerprint: false,
  finishFirst: false,
  decoy: false,
  lineEnd: "\n",
  afterColon: " ",
  comment: false,
}

export type Utterance =
  | {
      readonly kind: "text" | "reasoning" | "reasoning_content" | "refusal" | "logprobs" | "thought"
      readonly text: string
    }
  | { readonly kind: "call"; readonly call: number; readonly text: string }
  | { readonly kind: "role" | "empty" | "null" | "nothing" }

export interface Step {
  readonly utterance: Utterance
  /** Which choice says it, modulo their number. */
  readonly choice: number
  /** How the host writes from this step on; `undefined`: as before. */
  readonly manner: Manner | undefined
}

export interface Script {
  readonly manner: Manner
  readonly choices: number
  readonly steps: ReadonlyArray<Step>
  readonly usageChunk: boolean
  readonly done: boolean
}

const Manners: FastCheck.Arbitrary<Manner> = FastCheck.record({
  spaced: FastCheck.boolean(),
  ascii: FastCheck.boolean(),
  role: FastCheck.boolean(),
  obfuscation: rarely(),
  usage: FastCheck.constantFrom("none", "none", "null", "running"),
  fingerprint: FastCheck.boolean(),
  finishFirst: FastCheck.boolean(),
  decoy: rarely(),
  lineEnd: FastCheck.constantFrom("\n", "\n", "\r\n", "\r"),
  afterColon: FastCheck.constantFrom(" ", " ", ""),
  comment: rarely(),
})

function rarely() {
  return FastCheck.nat(4).map((n) => n === 0)
}

const awkward = [
  '"',
  "\\",
  "\\u0041",
  '\\"',
  "\n",
  "\r\n",
  "\r",
  "\u2028\u2029",
  "\ud83d",
  "\ude00",
  "😀",
  "你好",
  "\u0000\u001f\u007f",
  "data: [DONE]\n\n",
  "\n\ndata: {}\n\n",
  ": comment\n\n",
  '"}}]}',
  '{"delta":{"content":"',
  '","finish_reason":"stop',
  "\ufeff",
] as const

/** Words, any characters, and texts that a parser could mistake for framing. */
export const Texts = FastCheck.oneof(
  FastCheck.string({ minLength: 1, maxLength: 8 }),
  FastCheck.string({ unit: "binary", minLength: 1, maxLength: 8 }),
  FastCheck.array(FastCheck.constantFrom(...awkward), { minLength: 1, maxLength: 3 }).map((parts) => parts.join("")),
  FastCheck.array(FastCheck.integer({ min: 0, max: 0xffff }), { minLength: 1, maxLength: 4 }).map((units) =>
    String.fromCharCode(...units),
  ),
)

const anyUtterance: FastCheck.Arbitrary<Utterance> = FastCheck.oneof(
  { weight: 6, arbitrary: Texts.map((text): Utterance => ({ kind: "text", text })) },
  {
    weight: 2,
    arbitrary: FastCheck.record({
      kind: FastCheck.constantFrom<"reasoning" | "reasoning_content" | "refusal" | "logprobs" | "thought">(
        "reasoning",
        "reasoning_content",
        "refusal",
        "logprobs",
        "thought",
      ),
      text: Texts,
    }),
  },
  {
    weight: 1,
    arbitrary: FastCheck.record({ kind: FastCheck.constant<"call">("call"), call: FastCheck.nat(2), text: Texts }),
  },
  {
    weight: 1,
    arbitrary: FastCheck.constantFrom<Utterance>(
      { kind: "role" },
      { kind: "empty" },
      { kind: "null" },
      { kind: "nothing" },
    ),
  },
)

export const Scripts: FastCheck.Arbitrary<Script> = FastCheck.record({
  manner: Manners,
  choices: FastCheck.constantFrom(1, 1, 1, 2, 3),
  steps: FastCheck.array(
    FastCheck.record({
      utterance: anyUtterance,
      choice: FastCheck.nat(2),
      manner: FastCheck.option(Manners, { freq: 8, nil: undefined }),
    }),
    { minLength: 1, maxLength: 25 },
  ),
  usageChunk: FastCheck.boolean(),
  done: FastCheck.boolean(),
})

/** A text that must never reach a caller. */
export const hostsId = "chatcmpl-of-the-host"
export const hostsModel = "model-name-of-the-host"

const json = (value: unknown, { spaced, ascii }: Manner): string => {
  const written = spaced ? spacedJson(value) : JSON.stringify(value)
  return ascii
    ? written.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    : written
}

const spacedJson = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(spacedJson).join(", ")}]`
  if (typeof value !== "object" || value === null) return JSON.stringify(value)
  const members = Object.entries(value).filter(([, member]) => member !== undefined)
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}: ${spacedJson(member)}`).join(", ")}}`
}

/** One event with this data, as the host writes it. */
export const eventBy = (manner: Manner, data: string): string =>
  `${manner.comment ? `: keep-alive${manner.lineEnd}` : ""}data:${manner.afterColon}${data}${manner.lineEnd}${manner.lineEnd}`

/** Writes a script as the host would, and keeps the state that it needs between chunks. */
export class ScriptWriter {
  private readonly begun = new Set<string>()
  private count = 0

  /** The chunk of one choice in this manner. */
  chunk(manner: Manner, index: number, utterance: Utterance | "finish"): string {
    this.count += 1
    const delta = utterance === "finish" ? {} : this.delta(utterance, index)
    const choice = {
      ...(manner.finishFirst ? { finish_reason: utterance === "finish" ? "stop" : null } : {}),
      index,
      delta: manner.role ? { role: "assistant", ...delta } : delta,
      ...(manner.finishFirst ? {} : { finish_reason: utterance === "finish" ? "stop" : null }),
      ...(utterance !== "finish" && utterance.kind === "logprobs"
        ? { logprobs: { content: [{ token: utterance.text }] } }
        : {}),
    }
    return json({ ...this.names(manner, delta), choices: [choice], ...this.rest(manner) }, manner)
  }

  usage(manner: Manner): string {
    return json(
      {
        ...this.names({ ...manner, decoy: false }, {}),
        choices: [],
        usage: { prompt_tokens: 1000, completion_tokens: 1000 },
      },
      manner,
    )
  }

  private names(manner: Manner, delta: object) {
    return {
      id: hostsId,
      ...(manner.decoy ? { other: { delta } } : {}),
      object: "chat.completion.chunk",
      created: 1,
      model: hostsModel,
    }
  }

  private rest({ usage, fingerprint, obfuscation }: Manner) {
    const running = { prompt_tokens: 7, completion_tokens: this.count }
    return {
      ...(fingerprint ? { system_fingerprint: "fp_1" } : {}),
      ...(usage === "none" ? {} : { usage: usage === "null" ? null : running }),
      ...(obfuscation ? { obfuscation: "x".repeat(this.count % 7) + this.count } : {}),
    }
  }

  private delta(utterance: Utterance, choice: number): Record<string, unknown> {
    switch (utterance.kind) {
      case "text":
      case "logprobs":
        return { content: utterance.text }
      case "reasoning":
      case "reasoning_content":
        return { content: null, [utterance.kind]: utterance.text }
      case "refusal":
        return { refusal: utterance.text }
      case "thought":
        return { content: utterance.text, reasoning: utterance.text }
      case "call":
        return { tool_calls: [this.piece(choice, utterance.call, utterance.text)] }
      case "role":
        return { role: "assistant" }
      case "empty":
        return { role: "assistant", content: "" }
      case "null":
        return { content: null, tool_calls: null }
      case "nothing":
        return {}
    }
  }

  private piece(choice: number, call: number, text: string) {
    const id = `call_${choice}_${call}`
    if (this.begun.has(id)) return { index: call, function: { arguments: text } }
    this.begun.add(id)
    return { index: call, id, type: "function", function: { name: "look", arguments: text } }
  }
}

/** The bytes of a script, to its end. */
export const bytesOfScript = ({ manner: first, choices, steps, usageChunk, done }: Script): Uint8Array => {
  const writer = new ScriptWriter()
  let manner = first
  let text = ""
  for (const step of steps) {
    manner = step.manner ?? manner
    text += eventBy(manner, writer.chunk(manner, step.choice % choices, step.utterance))
  }
  for (let index = 0; index < choices; index++) text += eventBy(manner, writer.chunk(manner, index, "finish"))
  if (usageChunk) text += eventBy(manner, writer.usage(manner))
  if (done) text += eventBy({ ...manner, comment: false }, "[DONE]")
  return new TextEncoder().encode(text)
}

/** These bytes, cut at these places. */
export const cutAt = (bytes: Uint8Array, cuts: ReadonlyArray<number>): ReadonlyArray<Uint8Array> => {
  const at = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].toSorted((a, b) => a - b)
  return [0, ...at].map((start, index) => bytes.subarray(start, at[index] ?? bytes.length))
}
