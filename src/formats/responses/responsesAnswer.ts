/** The response object of the Responses form, in every state: how a host's stands, and how a client's is written. */

import type { HostFailed } from "../../domain/failures/Failure.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import { isJsonObject, type JsonObject, objectIn, textOr } from "../../domain/json/json.ts"
import type { ChatChoice, ChatMessage, ChatResponse, FinishReason, ToolCallDelta } from "../../domain/request/chat.ts"
import type { ChatRequest } from "../../domain/request/request.ts"
import type { AnswerNames, AnswerWriter } from "../AnswerWriter.ts"
import { deltasOf, withoutReasoning } from "../delta.ts"
import { malformed } from "../httpError.ts"
import { tierOf } from "../routerUsage.ts"
import { responsesFailure } from "./responsesError.ts"
import { type ItemNames, OutputItems } from "./responsesOutput.ts"
import { answerNamesOf } from "./responsesToolNames.ts"
import { usageBody } from "./responsesUsage.ts"

/** What all states of one response have in common. */
export interface ResponseNames extends AnswerNames, ItemNames {
  /** Whether reasoning is kept from the caller. */
  readonly hidesReasoning: boolean
  /** Members of the request that the response repeats. */
  readonly echo: JsonObject
}

export const namesFor = (names: AnswerNames, { native, reasoning }: ChatRequest): ResponseNames => ({
  ...names,
  suffix: names.generationId.slice("gen-".length),
  hidesReasoning: reasoning.exclude,
  echo: echoOf(native?.body ?? {}),
  tools: answerNamesOf(native?.body ?? {}),
})

/**
 * Strict clients require most of these members. Where the caller said nothing they have what the form's documentation has
 * for its defaults, or null.
 */
const echoOf = (body: JsonObject): JsonObject => ({
  background: false,
  instructions: body["instructions"] ?? null,
  max_output_tokens: body["max_output_tokens"] ?? null,
  max_tool_calls: body["max_tool_calls"] ?? null,
  metadata: body["metadata"] ?? {},
  parallel_tool_calls: body["parallel_tool_calls"] ?? true,
  frequency_penalty: body["frequency_penalty"] ?? null,
  presence_penalty: body["presence_penalty"] ?? null,
  previous_response_id: null,
  prompt_cache_key: body["prompt_cache_key"] ?? null,
  reasoning: isJsonObject(body["reasoning"]) ? { ...noReasoning, ...body["reasoning"] } : noReasoning,
  safety_identifier: body["safety_identifier"] ?? null,
  store: false,
  temperature: body["temperature"] ?? null,
  text: echoedText(body["text"]),
  tool_choice: body["tool_choice"] ?? "auto",
  tools: Array.isArray(body["tools"]) ? body["tools"].map(echoedTool) : [],
  top_logprobs: body["top_logprobs"] ?? 0,
  top_p: body["top_p"] ?? null,
  truncation: body["truncation"] ?? "disabled",
  user: body["user"] ?? null,
})

const noReasoning: JsonObject = { effort: null, summary: null }

const plainText: JsonObject = { format: { type: "text" } }

const echoedText = (config: unknown): JsonObject =>
  isJsonObject(config) ? { ...config, format: config["format"] ?? plainText["format"] } : plainText

const echoedTool = (tool: unknown): unknown =>
  isJsonObject(tool) && tool["type"] === "function" ? { parameters: null, strict: null, ...tool } : tool

// --- how a response stands

/** A response that a client gets. */
export type ResponseState =
  | { readonly status: "in_progress" | "completed" }
  | { readonly status: "incomplete"; readonly reason: "max_output_tokens" | "content_filter" }
  | { readonly status: "failed"; readonly code: string; readonly message: string; readonly errorType: string }

/** How an answer that finished so ended. A call that the model failed to write is no answer that an agent could go on with. */
export const endOf = (
  choice: Partial<Pick<ChatChoice, "finish_reason" | "native_finish_reason">> = {},
): ResponseState => {
  const { finish_reason: reason, native_finish_reason: native } = choice
  if (reason === "length") return { status: "incomplete", reason: "max_output_tokens" }
  if (reason === "content_filter") return { status: "incomplete", reason }
  if (reason !== "error") return { status: "completed" }
  const message = native == null ? "The model's answer failed." : `The model's answer failed: ${native}.`
  return { status: "failed", code: "server_error", message, errorType: "server" }
}

/** How a host's response ended, also in the host's words. `called`: whether it calls tools of the caller. */
export const finishOf = (
  { status, incomplete_details: details }: JsonObject,
  called: boolean,
): { readonly reason: FinishReason; readonly native: string } => {
  const { reason } = objectIn(details)
  if (typeof reason === "string") {
    return { reason: reason === "content_filter" ? "content_filter" : "length", native: reason }
  }
  if (isUnfinished(status) || status === "incomplete") return { reason: "length", native: status }
  return { reason: called ? "tool_calls" : "stop", native: textOr(status, "completed") }
}

/**
 * Whether the host goes on with the response, and bills for it. Nobody fetches the rest, so its cost is never known. See
 * docs/guarantees.md#g5.
 */
export const isUnfinished = (status: unknown): status is "queued" | "in_progress" =>
  status === "queued" || status === "in_progress"

/** A response that has ended with this status, which its host may not have brought up to date. */
export const ended = (response: JsonObject, status: string): JsonObject =>
  isUnfinished(response["status"]) ? { ...response, status } : response

/** The failure in a response object, if it has one. A cancelled response is a failure too. */
export const failureIn = ({ status, error }: JsonObject): HostFailed | undefined => {
  if (error != null) return responsesFailure(error)
  if (status === "failed") return responsesFailure({ code: "server_error" })
  return status === "cancelled" ? malformed() : undefined
}

/** The status of the items of a response that ended so. */
export const itemStatusOf = ({ status }: ResponseState) => (status === "completed" ? "completed" : "incomplete")

/** The members that say how a response stands. */
export const stateMembers = (names: ResponseNames, state: ResponseState): JsonObject => ({
  completed_at: state.status === "completed" || state.status === "incomplete" ? nowOf(names) : null,
  status: state.status,
  error: state.status === "failed" ? { code: state.code, message: state.message } : null,
  ...(state.status === "failed" ? { error_type: state.errorType } : {}),
  incomplete_details: state.status === "incomplete" ? { reason: state.reason } : null,
})

// --- the object that a client gets

/** The response without its usage. `tier`: the service tier in the host's words. */
export const responseBody = (
  names: ResponseNames,
  host: Host | undefined,
  state: ResponseState,
  items: OutputItems | undefined,
  tier: unknown,
): JsonObject => {
  const isOver = state.status !== "in_progress"
  return {
    id: `resp_${names.suffix}`,
    object: "response",
    created_at: names.created,
    model: host?.model ?? names.model,
    ...names.echo,
    service_tier: tierOf(tier, host),
    ...stateMembers(names, state),
    output: items === undefined ? [] : items.written(itemStatusOf(state)),
    ...(isOver ? { output_text: items?.text ?? "", openrouter_metadata: names.metadata?.(host) } : {}),
  }
}

/** `native`: the answer of a host of the form, of which ids, model, usage and cost are exchanged. */
export const answerWriter =
  (names: ResponseNames): AnswerWriter =>
  (host, response, native) => {
    const body =
      native === undefined
        ? translated(names, host, response)
        : exchanged(names, host, response.unfinished === true ? native : ended(native, "completed"))
    const text = JSON.stringify(body)
    return (charge) => `${text.slice(0, -1)},"usage":${JSON.stringify(usageBody(charge))}}`
  }

const translated = (names: ResponseNames, host: Host, { choices, service_tier: tier }: ChatResponse): JsonObject => {
  const [choice, ...more] = choices
  const items = new OutputItems(names)
  if (choice !== undefined)
    for (const said of deltasOf(choice.message, choice.logprobs ?? null)) {
      const { delta, logprobs } = names.hidesReasoning ? withoutReasoning(said) : said
      items.add(delta, logprobs)
    }
  for (const [at, { message }] of more.entries()) items.addCalls(at + 1, numbered(message.tool_calls))
  const state = endOf(choice)
  items.close(itemStatusOf(state))
  return responseBody(names, host, state, items, tier)
}

const numbered = (calls: ChatMessage["tool_calls"]): ReadonlyArray<ToolCallDelta> =>
  calls?.map((call, index) => ({ ...call, index })) ?? []

/**
 * A response object of a host of the form, in any state, under the gateway's names and without its usage. Members of the
 * request that the host does not repeat are added.
 */
export const exchanged = (names: ResponseNames, host: Host | undefined, response: JsonObject): JsonObject => {
  const { usage: _, ...own } = response
  const { status } = own
  const isOver = status !== "in_progress" && status !== "queued"
  return {
    ...names.echo,
    ...own,
    completed_at: own["completed_at"] ?? (status === "completed" || status === "incomplete" ? nowOf(names) : null),
    id: `resp_${names.suffix}`,
    model: host?.model ?? names.model,
    max_output_tokens: names.echo["max_output_tokens"],
    service_tier: tierOf(own["service_tier"], host),
    ...(Array.isArray(own["output"]) ? { output: own["output"].map((item: unknown) => shownItem(names, item)) } : {}),
    ...(isOver ? { openrouter_metadata: names.metadata?.(host) } : {}),
  }
}

/** An item of such a host. Reasoning that the caller does not want to see keeps what a later turn needs. */
export const shownItem = ({ hidesReasoning }: Pick<ResponseNames, "hidesReasoning">, item: unknown): unknown => {
  if (!hidesReasoning || !isJsonObject(item) || item["type"] !== "reasoning") return item
  const { content: _, ...rest }: JsonObject = item
  return { ...rest, summary: [] }
}

/** Unix seconds. */
const nowOf = ({ time }: ResponseNames): number => Math.floor((time.admittedAt + time.elapsedMs()) / 1000)
