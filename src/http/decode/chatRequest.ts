/** Makes the request of the gateway from a decoded body, whatever its form: what it wants, needs, and can cost. */
import type { ChatPayload } from "../../domain/Chat.ts"
import { isJsonObject, type JsonObject } from "../../domain/Json.ts"
import type { Preferences } from "../../domain/Preferences.ts"
import {
  type ChatRequest,
  mostSearches,
  type Needs,
  noNeeds,
  type Reasoning,
  type Routing,
} from "../../domain/Request.ts"
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
}

export const chatRequest = (decoded: DecodedBody): ChatRequest => {
  const { body, native, payload, preferences, parameters, reasoning, maxTokens } = decoded
  const { textBytes, mediaBytes, mediaParts, media, images, inputs } = measure(payload, native)
  return {
    operation: "chat",
    routing: routingOf(body, preferences, parameters, needsOf(payload, inputs)),
    bounds: {
      promptBytes: textBytes + mediaBytes,
      mediaBytes,
      mediaParts,
      textBytes,
      ...(media === undefined ? {} : { media }),
      messages: payload.messages.length,
      images,
      searches: searchesIn(payload),
      maxTokens,
      // A host that picks the best of several answers bills them all.
      choices: Math.max(countOf(payload.n) ?? 1, countOf(payload["best_of"]) ?? 1),
    },
    stream: body["stream"] === true,
    maxTokens,
    reasoning,
    payload,
  }
}

/** What the members that speak to the router say. They have the same names in every form. */
export const routingOf = (
  body: JsonObject,
  preferences: Preferences,
  parameters: ReadonlyArray<string>,
  needs: Needs,
): Routing => ({
  models: modelsOf(body),
  preferences: withSiblings(preferences, body),
  parameters,
  needs,
  ...sessionOf(body["session_id"]),
})

export const countOf = (value: unknown): number | undefined => (typeof value === "number" ? value : undefined)

const modelsOf = (body: JsonObject): ReadonlyArray<string> => {
  const wanted = typeof body["model"] === "string" ? [body["model"]] : []
  const { models } = body
  return Array.isArray(models) ? [...new Set([...wanted, ...models.filter((id) => typeof id === "string")])] : wanted
}

const sessionOf = (session: unknown): { readonly session?: string } =>
  typeof session === "string" && session !== "" ? { session } : {}

/** The most web searches that the request is assumed to cause: one where it does not ask for any, for a host that always searches. */
const searchesIn = (payload: ChatPayload): number => {
  const searches = (tool: JsonObject) => String(tool["type"]).includes("web_search")
  return payload["web_search_options"] != null || (payload.tools ?? []).some(searches) ? mostSearches : 1
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

const toolChoiceOf = (choice: unknown): Needs["toolChoice"] => {
  if (choice === "none" || choice === "auto" || choice === "required") return choice
  return isJsonObject(choice) && choice["type"] === "function" ? "function" : undefined
}
