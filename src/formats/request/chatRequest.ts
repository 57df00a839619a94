/** Makes the request of the gateway from a decoded body, whatever its form: what it wants, needs, and can cost. */

import type { Mutable } from "effect/Types"
import { isJsonObject, type JsonObject, objectIn, textOr } from "../../domain/json/json.ts"
import { withoutKeys } from "../../domain/json/redaction.ts"
import type { ChatPayload } from "../../domain/request/chat.ts"
import { valueBytes } from "../../domain/request/estimate.ts"
import type { HostedTool } from "../../domain/request/hostedTools.ts"
import type { Preferences } from "../../domain/request/Preferences.ts"
import {
  type Bounds,
  type ChatRequest,
  type FormNeed,
  type Needs,
  noNeeds,
  noReasoning,
  type Reasoning,
  type Routing,
} from "../../domain/request/request.ts"
import { payloadWithoutAttribution } from "./attribution.ts"
import { withoutHosted } from "./hosted.ts"
import { measure } from "./measure.ts"
import { withSiblings } from "./preferences.ts"

/** A body that was checked and brought into the canonical form. */
export interface DecodedBody {
  /** As received: read for the members that speak to the router, which have the same names in every form. */
  readonly body: JsonObject
  /** The body, where the payload lacks something of it that hosts of the caller's form are sent. */
  readonly native?: JsonObject | undefined
  readonly payload: ChatPayload
  readonly preferences: Preferences
  /** Parameters that a host may or may not support, by their names in the canonical form. */
  readonly parameters: ReadonlyArray<string>
  readonly reasoning: Reasoning
  readonly maxTokens: number | undefined
  /** What only hosts of the form can do. */
  readonly onlyForm?: FormNeed | undefined
  /** Name of the client form. Default: `chat`. */
  readonly form?: string
  /** Names of members that no host is sent. */
  readonly dropped: ReadonlyArray<string>
  /** Whether the messages have something whose size the gateway cannot tell. Default false. */
  readonly unseen?: boolean
}

export const chatRequest = (decoded: DecodedBody): ChatRequest => {
  const { body, native, preferences, reasoning, maxTokens, dropped, onlyForm, form = "chat", unseen = false } = decoded
  const { payload, hosted } = withoutHosted(payloadWithoutAttribution(decoded.payload), body, form)
  const parameters = hosted.length === 0 ? decoded.parameters : parametersOf(decoded.parameters, payload)
  const { textBytes, mediaBytes, mediaParts, tokens, images, inputs, cachesAnHour, cachesPartAnHour } = measure(
    payload,
    native,
  )
  const needs = withForm(needsOf(payload, inputs), form, hosted, onlyForm)
  // Members are added where they are there: spreading objects would take a tenth of all decoding.
  const bounds: Mutable<Bounds> = {
    promptBytes: textBytes + mediaBytes,
    mediaBytes,
    mediaParts,
    textBytes,
    messages: payload.messages.length,
    images,
    // For a host that always searches.
    searches: 1,
    maxTokens,
    // A host that picks the best of several answers bills them all.
    choices: Math.max(countOf(payload.n) ?? 1, countOf(payload["best_of"]) ?? 1),
  }
  if (tokens !== undefined) bounds.media = tokens
  if (unseen) bounds.unseen = true
  if (cachesAnHour) bounds.cachesAnHour = true
  if (cachesPartAnHour) bounds.cachesPartAnHour = true
  if (payload["prediction"] != null) bounds.predictedBytes = valueBytes(payload["prediction"])
  const request: Mutable<ChatRequest> = {
    operation: "chat",
    routing: routingOf(body, preferences, parameters, needs),
    bounds,
    stream: body["stream"] === true,
    maxTokens,
    reasoning,
    payload,
  }
  if (dropped.length > 0) request.dropped = dropped
  const { stream_options: options } = body
  if (isJsonObject(options) && options["include_usage"] === true) request.usageChunk = true
  return request
}

/** `DecodedBody.parameters` of a translated body. `optional`: the members of a payload that a host may not support. */
export const parametersIn = (
  payload: ChatPayload,
  optional: ReadonlyArray<string>,
  reasoning: Reasoning,
  maxTokens: number | undefined,
): ReadonlyArray<string> => [
  ...optional.filter((name) => payload[name] !== undefined),
  ...(reasoning === noReasoning ? [] : ["reasoning"]),
  ...(maxTokens === undefined ? [] : ["max_tokens"]),
]

/** The parameters without those of tools, where there are none but the host's. */
const parametersOf = (parameters: ReadonlyArray<string>, { tools }: ChatPayload): ReadonlyArray<string> =>
  tools == null
    ? parameters.filter((name) => name !== "tools" && name !== "tool_choice" && name !== "parallel_tool_calls")
    : parameters

/** What the members that speak to the router say. They have the same names in every form. */
export const routingOf = (
  body: JsonObject,
  preferences: Preferences,
  parameters: ReadonlyArray<string>,
  needs: Needs,
): Routing => {
  const routing: Mutable<Routing> = {
    models: modelsOf(body),
    preferences: withSiblings(preferences, body),
    parameters,
    needs,
  }
  const session = textOr(body["session_id"], "") || sessionOfUser(objectIn(body["metadata"])["user_id"])
  if (session) routing.session = session
  return routing
}

/**
 * The session that Claude Code names in `metadata.user_id`: at the end of a text, or in an object that is written as
 * JSON (router-for-me/CLIProxyAPI#4452, 2026-07).
 */
const sessionOfUser = (user: unknown): string | undefined => {
  if (typeof user !== "string" || user.length > 1024) return undefined
  return /_session_([\w-]{8,128})$/.exec(user)?.[1] ?? /"session_id"\s*:\s*"([\w-]{8,128})"/.exec(user)?.[1]
}

export const countOf = (value: unknown): number | undefined => (typeof value === "number" ? value : undefined)

const modelsOf = (body: JsonObject): ReadonlyArray<string> => {
  const wanted = typeof body["model"] === "string" ? [withoutKeys(body["model"])] : []
  const { models } = body
  if (!Array.isArray(models)) return wanted
  return [...new Set([...wanted, ...models.filter((id) => typeof id === "string").map(withoutKeys)])]
}

/** What the request needs of a host besides parameters. */
const needsOf = ({ tool_choice: choice, modalities }: ChatPayload, inputs: Needs["inputs"]): Needs => {
  if (choice == null && modalities == null && inputs.length === 0) return noNeeds
  const outputs: ReadonlyArray<unknown> = Array.isArray(modalities) ? modalities : []
  return {
    inputs,
    outputs: outputs.filter((kind) => typeof kind === "string" && kind !== "text").map(String),
    toolChoice: toolChoiceOf(choice),
  }
}

const withForm = (
  needs: Needs,
  form: string,
  hosted: ReadonlyArray<HostedTool>,
  onlyForm: FormNeed | undefined,
): Needs =>
  hosted.length === 0 && onlyForm === undefined
    ? needs
    : { ...needs, form, ...(hosted.length === 0 ? {} : { hosted }), ...(onlyForm === undefined ? {} : { onlyForm }) }

const toolChoiceOf = (choice: unknown): Needs["toolChoice"] => {
  if (choice === "none" || choice === "auto" || choice === "required") return choice
  return isJsonObject(choice) && choice["type"] === "function" ? "function" : undefined
}
