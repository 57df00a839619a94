/** What an answer comes to, streamed or whole, in one form, so that it can be compared with what its author expects. */
import { isDeepStrictEqual } from "node:util"
import type { HostFailed } from "../../domain/failures/Failure.ts"
import type { HostReason } from "../../domain/failures/HostReason.ts"
import type { ChatChunk, ChatResponse, ChatUsage, FinishReason, ReasoningDetail } from "../../domain/request/chat.ts"
import { citationsIn } from "../../formats/content.ts"
import { withoutOrder } from "../../formats/conversation.ts"
import { must, shown } from "../Check.ts"
import type { Expected, ExpectedFailure } from "../Expected.ts"
import { parsed } from "../requests/Sent.ts"

export interface CallOutcome {
  /** Different ids that came at its index: more than one are several calls in one place. */
  readonly ids: Array<string>
  name: string
  arguments: string
}

/** One choice. */
export interface ChoiceOutcome {
  text: string
  reasoning: string
  refusal: string
  readonly details: Array<ReasoningDetail>
  /** By index. */
  readonly calls: Array<CallOutcome | undefined>
  readonly images: Array<string>
  readonly citations: Array<string>
  readonly finishes: Array<FinishReason>
}

export interface Outcome {
  /** By index. */
  readonly choices: Array<ChoiceOutcome | undefined>
  readonly usage: ChatUsage | undefined
  readonly failure: HostFailed | undefined
}

const emptyChoice = (): ChoiceOutcome => ({
  ...{ text: "", reasoning: "", refusal: "" },
  ...{ details: [], calls: [], images: [], citations: [], finishes: [] },
})

const textOf = (value: unknown): string => (typeof value === "string" ? value : "")

/** Arguments have to be text. An object in their place is kept as it would read, so that a check can say so. */
const writtenOf = (value: unknown): string =>
  typeof value === "object" && value !== null ? String(value) : textOf(value)

/** Combines the chunks of a decoder. */
export class Gatherer {
  readonly choices: Array<ChoiceOutcome | undefined> = []

  add(chunks: ReadonlyArray<ChatChunk>): void {
    for (const { index, delta, finish_reason: reason } of chunks.flatMap(({ choices }) => choices)) {
      const choice = this.choiceAt(index)
      choice.text += textOf(delta.content)
      choice.reasoning += textOf(delta.reasoning)
      choice.refusal += textOf(delta.refusal)
      choice.details.push(...(delta.reasoning_details ?? []))
      choice.images.push(...(delta.images ?? []).map(({ image_url: { url } }) => url))
      choice.citations.push(...citationsIn(delta.annotations).map(({ url_citation: { url } }) => url))
      for (const { index: at, id, function: called } of delta.tool_calls ?? []) {
        const call = choice.calls[at] ?? { ids: [], name: "", arguments: "" }
        choice.calls[at] = call
        if (id !== undefined && !call.ids.includes(id)) call.ids.push(id)
        call.name += textOf(called?.name)
        call.arguments += writtenOf(called?.arguments)
      }
      if (reason !== null) choice.finishes.push(reason)
    }
  }

  private choiceAt(index: number): ChoiceOutcome {
    const choice = this.choices[index] ?? emptyChoice()
    this.choices[index] = choice
    return choice
  }
}

/** What a whole answer comes to. */
export const outcomeOf = ({ choices, usage }: ChatResponse): Outcome => {
  const found: Array<ChoiceOutcome> = []
  for (const { index, finish_reason: reason, message } of choices) {
    found[index] = {
      text: textOf(message.content),
      reasoning: textOf(message.reasoning),
      refusal: textOf(message.refusal),
      details: [...(message.reasoning_details ?? [])],
      calls: (message.tool_calls ?? []).map(({ id, function: { name, arguments: written } }) => ({
        ids: [id],
        name,
        arguments: writtenOf(written),
      })),
      images: (message.images ?? []).map(({ image_url: { url } }) => url),
      citations: citationsIn(message.annotations).map(({ url_citation: { url } }) => url),
      finishes: [reason ?? "stop"],
    }
  }
  return { choices: found, usage, failure: undefined }
}

/** Without what may differ when an answer is read again: the ids that a protocol makes for calls that have none. */
export const withoutIds = ({ choices, usage, failure }: Outcome) => ({
  choices: choices.map(
    (choice) =>
      choice && {
        ...choice,
        details: choice.details.map(({ id: _, ...detail }) => detail),
        calls: choice.calls.map((call) => call && { ...call, ids: call.ids.length }),
      },
  ),
  usage,
  failure: failure?.reason,
})

/** Signatures and encrypted data, in their order. Fragments of one block are one. */
export const signaturesIn = (details: ReadonlyArray<ReasoningDetail>): ReadonlyArray<string> => {
  const blocks = new Map<string, string>()
  for (const [at, { type, index, data, signature }] of withoutOrder(details).entries()) {
    const secret = textOf(type === "reasoning.encrypted" ? data : signature)
    const block = `${type} ${index ?? `at ${at}`}`
    if (secret !== "") blocks.set(block, (blocks.get(block) ?? "") + secret)
  }
  return [...blocks.values()]
}

/** `plugin` is a reason of the gateway's own, which says nothing to an author. */
export const reasonSaid = (reason: HostReason): string =>
  reason === "plugin" ? '"plugin": a hook threw, or gave what the contract does not allow' : `"${reason}"`

/** Throws unless the failure is the expected one. `hinted`: the wait that the sample itself names. */
export const failsAs = (
  failure: HostFailed | undefined,
  expected: ExpectedFailure,
  { of, hinted }: { readonly of: string; readonly hinted?: number | undefined },
): void => {
  must(failure !== undefined, `${of} is read as an answer, expected the failure "${expected.reason}"`, "errorInBody")
  const { reason, retryAfterSeconds: wait, code, detail } = failure
  must(
    reason === expected.reason || reason !== "malformed",
    `${of} is "malformed", as if it were no answer of the vendor, expected "${expected.reason}": errorInBody() reads an error object`,
    "errorInBody",
  )
  must(reason === expected.reason, `${of} is ${reasonSaid(reason)}, expected "${expected.reason}"`, "HostReason")
  const wanted = expected.retryAfterSeconds === undefined ? hinted : expected.retryAfterSeconds
  must(
    wanted === undefined || (wait ?? null) === wanted,
    `${of} has retryAfterSeconds ${shown(wait)}, expected ${shown(wanted)}: the host would be called again too soon, or too late`,
    "HostFailed.retryAfterSeconds",
  )
  must(
    expected.code === undefined || (code ?? null) === expected.code,
    `${of} has the code ${shown(code)}, expected ${shown(expected.code)}`,
    "HostFailed.code",
  )
  must(
    expected.hasDetail === undefined || (detail !== undefined) === expected.hasDetail,
    `${of} has the detail ${shown(detail)}, expected ${expected.hasDetail === true ? "the host's words" : "none"}`,
    "HostFailed.detail",
  )
}

/** Throws unless the first choice is as expected. */
export const comesTo = ({ choices }: Outcome, expected: Expected, of: string): void => {
  const choice = choices[0] ?? emptyChoice()
  const same = (what: string, came: unknown, wanted: unknown, contract: string): void => {
    const says = () => `${of} comes to ${what} ${shown(came)}, expected ${shown(wanted)}`
    must(wanted === undefined || isDeepStrictEqual(came, wanted), says, contract)
  }
  same("the text", choice.text, expected.text, "ChatMessage.content, ChatDelta.content")
  same("the reasoning", choice.reasoning, expected.reasoning, "ChatMessage.reasoning, ChatDelta.reasoning")
  same("the signatures", signaturesIn(choice.details), expected.signatures, "ReasoningDetail")
  same("the images", choice.images, expected.images, "OutputImage")
  same("the citations", choice.citations, expected.annotations, "Annotation")
  same("the refusal", choice.refusal, expected.refusal, "ChatMessage.refusal")
  same("the end", choice.finishes[0], expected.finishReason, "FinishReason")
  const calls = choice.calls.map((call, at) => callLike(call, expected.toolCalls?.[at]))
  same("the tool calls", calls, expected.toolCalls, "ToolCall, ToolCallDelta")
}

/** The call, with as much of it as is expected. */
const callLike = (call: CallOutcome | undefined, expected: NonNullable<Expected["toolCalls"]>[number] | undefined) =>
  call && {
    name: call.name,
    arguments: typeof expected?.arguments === "string" ? call.arguments : (parsed(call.arguments) ?? call.arguments),
    ...(expected?.id === undefined ? {} : { id: call.ids[0] }),
  }

/** Throws where several calls came at one index, or arguments are objects. */
export const callsApart = ({ choices }: Outcome, of: string): void => {
  for (const { calls } of choices.flatMap((choice) => choice ?? [])) {
    must(
      !calls.some((call) => call?.arguments.includes(String({})) === true),
      `${of} has a tool call whose arguments are an object, and they are JSON text: JSON.stringify()`,
      "ToolCall.function.arguments",
    )
    const at = calls.findIndex((call) => call !== undefined && call.ids.length > 1)
    must(
      at === -1,
      () =>
        `${of} has several tool calls with index ${at} (ids ${calls[at]?.ids.join(", ")}): each has an index of its own, counted from 0 over the whole answer`,
      "ToolCallDelta.index",
    )
  }
}

/** Throws unless calls stand in places of their own, have JSON as arguments, and are what the answer ends for. */
export const callsWell = ({ choices }: Outcome, expected: Expected, of: string): void => {
  for (const { calls, finishes } of choices.flatMap((choice) => choice ?? [])) {
    for (const [at, call] of calls.entries()) {
      must(call !== undefined, `${of} has no tool call with index ${at}, and one after it`, "ToolCallDelta.index")
      must(call.ids.length === 1, `${of} has a tool call without an id: newCallId() makes one`, "ToolCall.id")
      must(call.name !== "", `${of} has a tool call without a name`, "ToolCall.function.name")
      const isExpected = typeof expected.toolCalls?.[at]?.arguments === "string"
      must(
        isExpected || call.arguments === "" || parsed(call.arguments) !== undefined,
        `${of} has a tool call with the arguments ${shown(call.arguments)}, which are no JSON: JSON.stringify() where the host sends an object`,
        "ToolCall.function.arguments",
      )
    }
    must(
      calls.length === 0 || expected.finishReason !== undefined || !finishes.includes("stop"),
      `${of} has tool calls and ends with "stop": agents wait for "tool_calls"`,
      "FinishReason",
    )
  }
}
