/** The events of a streamed chat answer: of hosts, as canonical chunks, one for each, and for clients. */
import { HostFailed } from "../../domain/failures/Failure.ts"
import { isJsonObject, type JsonObject, textOr } from "../../domain/json/json.ts"
import type {
  ChatChunk,
  ChatChunkChoice,
  ChatDelta,
  ChatUsage,
  ReasoningDetail,
  ToolCallDelta,
} from "../../domain/request/chat.ts"
import { sseEvent } from "../../wire/sse.ts"
import { callIdOf } from "../callId.ts"
import type { ChunkShape } from "../choices.ts"
import { CustomCalls } from "../customTools.ts"
import { malformed } from "../httpError.ts"
import type { Decoder } from "../Protocol.ts"
import type { ChatQuirks } from "./ChatQuirks.ts"
import {
  addRest,
  argumentsOf,
  choiceError,
  errorOf,
  finishOf,
  isContent,
  logprobsOf,
  type Mutable,
  memberOf,
  nativeOf,
  takenOfBody,
  takenOfChoice,
  textAndReasoningOf,
  usageOf,
} from "./chatAnswer.ts"
import { legacyPiece } from "./chatLegacyFunctions.ts"
import { ChatPartOrder } from "./chatPartOrder.ts"
import { ThinkTags } from "./chatThinkTags.ts"

/** State of one choice. */
interface Choice {
  readonly index: number
  /** Absent as long as it calls no tool. */
  calls: Calls | undefined
  readonly tags: ThinkTags | undefined
  /** Whether it has said any text. */
  hasText: boolean
  /** Absent until it reasons in pieces. */
  order: ChatPartOrder | undefined
  isFinished: boolean
}

const newChoice = (index: number, quirks: ChatQuirks, model: string): Choice => ({
  index,
  calls: undefined,
  tags: quirks.thinkTags === true ? new ThinkTags(model) : undefined,
  hasText: false,
  order: undefined,
  isFinished: false,
})

/** `model`: as the host calls it. */
export const chatDecoder = (quirks: ChatQuirks, model: string): Decoder => {
  // By the host's index. A host may name any number of them.
  const known = new Map<number, Choice>()
  const choiceAt = (index: number): Choice => {
    let choice = known.get(index)
    if (choice === undefined) {
      choice = newChoice(index, quirks, model)
      known.set(index, choice)
    }
    return choice
  }
  let counted: ChatUsage | undefined
  const usageIn = (data: JsonObject): ChatUsage | undefined => {
    const usage = usageOf(data, quirks)
    if (usage !== undefined) counted = counted === undefined ? usage : withBoth(counted, usage)
    return usage && counted
  }
  return {
    event: (name, data) => {
      if (!isJsonObject(data)) return malformed()
      const wrong = errorOf(data, name, quirks)
      const usage = usageIn(data)
      if (wrong !== undefined) return usage === undefined ? wrong : wrong.with({ usage })
      const listed: unknown = data["choices"]
      if (listed == null) return usage === undefined ? [] : [{ choices: [], usage }]
      if (!Array.isArray(listed)) return malformed()
      const choices: Array<ChatChunkChoice> = []
      for (let at = 0; at < listed.length; at++) {
        const choice = readChoice(listed[at], at, choiceAt, quirks)
        if (choice instanceof HostFailed) return usage === undefined ? choice : choice.with({ usage })
        choices.push(choice)
      }
      const chunk: Mutable<ChatChunk> = { choices }
      const { system_fingerprint: fingerprint, service_tier: tier } = data
      if (typeof fingerprint === "string") chunk.system_fingerprint = fingerprint
      if (typeof tier === "string") chunk.service_tier = tier
      addRest(chunk, data, takenOfBody)
      if (usage !== undefined) chunk.usage = usage
      return [chunk]
    },
    end: () => {
      const choices: Array<ChatChunkChoice> = []
      for (const choice of known.values()) {
        const { index, tags } = choice
        const delta: Mutable<ChatDelta> = {}
        if (tags !== undefined) addThought(delta, tags.end())
        if (!choice.isFinished) addEmptyArguments(delta, choice)
        if (delta.content || delta.reasoning || delta.tool_calls !== undefined)
          choices.push({ index, delta, finish_reason: null })
      }
      return choices.length === 0 ? [] : [{ choices }]
    },
  }
}

/** The later report, with those totals of the one before that it has as 0 or not at all. */
const withBoth = (before: ChatUsage, usage: ChatUsage): ChatUsage => {
  const lacksPrompt = !usage.prompt_tokens && isAbove0(before.prompt_tokens)
  const lacksCompletion = !usage.completion_tokens && isAbove0(before.completion_tokens)
  if (!lacksPrompt && !lacksCompletion) return usage
  const { prompt_tokens, prompt_tokens_details: inward, completion_tokens, completion_tokens_details: outward } = before
  return {
    ...usage,
    ...(lacksPrompt ? { prompt_tokens, ...(inward && { prompt_tokens_details: inward }) } : {}),
    ...(lacksCompletion ? { completion_tokens, ...(outward && { completion_tokens_details: outward }) } : {}),
  }
}

const isAbove0 = (count: unknown): boolean => typeof count === "number" && count > 0

const readChoice = (
  choice: unknown,
  at: number,
  choiceAt: (index: number) => Choice,
  quirks: ChatQuirks,
): ChatChunkChoice | HostFailed => {
  if (!isJsonObject(choice)) return malformed()
  let finish = finishOf(choice["finish_reason"])
  const wrong = choiceError(choice, finish, quirks)
  if (wrong !== undefined) return wrong
  const index = typeof choice["index"] === "number" ? choice["index"] : at
  const state = choiceAt(index)
  // Some hosts send a whole message as an event.
  const message = choice["delta"] ?? choice["message"] ?? {}
  if (!isJsonObject(message) || !isContent(message["content"])) return malformed()
  const delta = readDelta(message, state)
  if (finish !== null) {
    if (state.tags !== undefined) addThought(delta, state.tags.end())
    if (finish === "stop" && state.calls?.any === true) finish = "tool_calls"
    if (finish === "tool_calls") addEmptyArguments(delta, state)
    const entry = state.isFinished ? undefined : state.order?.entry()
    if (entry !== undefined) delta.reasoning_details = [...(delta.reasoning_details ?? noDetails), entry]
    state.isFinished = true
  }
  const out: Mutable<ChatChunkChoice> = {
    index,
    delta,
    finish_reason: finish,
    native_finish_reason: nativeOf(choice),
    logprobs: logprobsOf(choice["logprobs"]),
  }
  addRest(out, choice, takenOfChoice)
  return out
}

const readDelta = (message: JsonObject, choice: Choice): Mutable<ChatDelta> => {
  const { tags } = choice
  const delta: Mutable<ChatDelta> = {}
  for (const name in message) {
    const value = message[name]
    switch (name) {
      case "__proto__":
        break
      case "content":
        if (typeof value === "string") {
          if (tags === undefined) delta.content = value
          else addThought(delta, tags.push(value))
        } else if (Array.isArray(value)) addThought(delta, textAndReasoningOf(value))
        else delta.content = null
        break
      case "reasoning":
      case "reasoning_content":
        // Some hosts send both names with the same text.
        if (typeof value === "string" && !delta.reasoning) delta.reasoning = value
        if (value) tags?.separated()
        break
      case "refusal":
        if (typeof value === "string") delta.refusal = value
        break
      case "tool_calls":
        if (Array.isArray(value) && value.length > 0) {
          choice.calls ??= new Calls()
          const { calls } = choice
          delta.tool_calls = value.map((piece) => calls.piece(piece))
        }
        break
      default: {
        const member = memberOf(name, value)
        if (member !== undefined) delta[name] = member
      }
    }
  }
  if (delta.reasoning_details !== undefined) listReasoning(delta.reasoning_details, choice)
  if (delta.content) {
    choice.hasText = true
    choice.order?.text()
  }
  if (delta.tool_calls !== undefined) choice.order?.calls(delta.tool_calls)
  return delta
}

/** Where texts or calls came before any reasoning, nothing is listed. */
const listReasoning = (details: ReadonlyArray<ReasoningDetail>, choice: Choice): void => {
  if (choice.order === undefined && !choice.hasText && choice.calls === undefined) choice.order = new ChatPartOrder()
  choice.order?.reasoned(details)
}

/** `{}` for calls that have no arguments: "" is no JSON. Once for each call. */
const addEmptyArguments = (delta: Mutable<ChatDelta>, { calls }: Choice): void => {
  const pieces = calls?.emptyArguments() ?? noPieces
  if (pieces.length > 0) delta.tool_calls = [...(delta.tool_calls ?? noPieces), ...pieces]
}

const noDetails: ReadonlyArray<ReasoningDetail> = []
const noPieces: ReadonlyArray<ToolCallDelta> = []

const addThought = (
  delta: Mutable<ChatDelta>,
  thought: { readonly text: string; readonly reasoning: string },
): void => {
  if (thought.reasoning !== "") {
    delta.reasoning = (delta.reasoning ?? "") + thought.reasoning
  }
  delta.content = (delta.content ?? "") + thought.text
}

interface Call {
  /** Its index in the canonical form: the order in which the calls appeared. */
  readonly at: number
  readonly id: string
  /** "" until the host has sent it. */
  name: string
  hasArguments: boolean
}

/**
 * Assigns pieces to the tool calls of one choice. Hosts leave out the index, use one for several calls, repeat the id
 * in each piece, change it, or send "". A new id together with a name begins a new call. A piece that has neither
 * continues the call of its index, or the last one.
 */
class Calls {
  private readonly byIndex = new Map<number, Call>()
  private readonly byId = new Map<string, Call>()
  private readonly all: Array<Call> = []
  private last: Call | undefined

  get any(): boolean {
    return this.all.length > 0
  }

  /** Converts one piece of a call to the canonical form, which has id, type and name in the first piece only. */
  piece(piece: unknown): ToolCallDelta {
    const { id: givenId, index: givenIndex, type, function: givenFunction, ...rest } = isJsonObject(piece) ? piece : {}
    const called = isJsonObject(givenFunction) ? givenFunction : {}
    const index = typeof givenIndex === "number" ? givenIndex : undefined
    const id = textOr(givenId, "")
    const name = textOr(called["name"], "")
    const going = this.continued(index, id, name)
    const call = going ?? this.begin(id)
    if (index !== undefined) this.byIndex.set(index, call)
    this.last = call
    const spoken: { name?: string; arguments?: string } = {}
    if (call.name === "" && name !== "") {
      spoken.name = name
      call.name = name
    }
    spoken.arguments = argumentsOf(called["arguments"])
    if (spoken.arguments !== "") call.hasArguments = true
    return going !== undefined
      ? { index: call.at, ...rest, function: spoken }
      : { index: call.at, id: call.id, type: textOr(type, "function"), ...rest, function: spoken }
  }

  /** Pieces for the calls that have no arguments so far. */
  emptyArguments(): ReadonlyArray<ToolCallDelta> {
    const empty = this.all.filter((call) => !call.hasArguments)
    for (const call of empty) call.hasArguments = true
    return empty.map(({ at }) => ({ index: at, function: { arguments: "{}" } }))
  }

  /** The call that a piece continues; `undefined`: it begins one. */
  private continued(index: number | undefined, id: string, name: string): Call | undefined {
    const { last } = this
    if (index === undefined) {
      if (id !== "") return this.byId.get(id) ?? (name === "" ? last : undefined)
      return name === "" || last?.name === "" ? last : undefined
    }
    const placed = this.byIndex.get(index)
    if (placed === undefined || placed.id === id || name === "") return placed
    if (id !== "") return this.byId.get(id)
    return placed.name === "" || placed.name === name ? placed : undefined
  }

  private begin(id: string): Call {
    const call = { at: this.all.length, id: callIdOf(id), name: "", hasArguments: false }
    this.all.push(call)
    this.byId.set(call.id, call)
    return call
  }
}

// --- for clients

/** Every delta has the role and a text, and every choice has all members, because strict clients require them. */
const chunkChoice = ({
  index,
  delta,
  finish_reason,
  native_finish_reason,
  ...rest
}: ChatChunkChoice): ChatChunkChoice => ({
  index,
  delta: { role: "assistant", content: "", ...delta },
  finish_reason,
  native_finish_reason: native_finish_reason ?? null,
  logprobs: null,
  ...rest,
})

export const chunks: ChunkShape = {
  object: "chat.completion.chunk",
  choice: chunkChoice,
  // What surrounds the JSON of an event.
  spliceable: { json: (text) => text.slice(6, -2), text: sseEvent },
}

export const legacyChunks: ChunkShape = { ...chunks, choice: (choice) => legacyPiece(chunkChoice(choice)) }

/** For a request with these custom tools. Made for one answer. */
export const customChunks = (names: ReadonlySet<string>): ChunkShape => {
  const calls = new CustomCalls(names)
  return { ...chunks, choice: (choice) => chunkChoice(calls.choice(choice)) }
}
