/** A host of Google's protocol, of the third generation: it signs its calls, and refuses calls without a signature. */
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { objectIn, objectsIn, textIn } from "../forms/script.ts"
import {
  type AgentHost,
  type Asked,
  functionInput,
  functionName,
  kindOf,
  line,
  refusedMembers,
  refusedNames,
  refusedPairs,
  type Said,
} from "./AgentHost.ts"

/** Of the first call of an answer. */
const signature = "c2lnbmVkLWNhbGw+/w=="

const usageMetadata = { promptTokenCount: 30, candidatesTokenCount: 8, thoughtsTokenCount: 4, totalTokenCount: 42 }

const partsOf = ({ thought, text, calls }: Said): ReadonlyArray<JsonObject> => [
  ...(thought === undefined ? [] : [{ text: thought, thought: true }]),
  ...(text === undefined ? [] : [{ text }]),
  ...calls.map((call, at) => ({
    functionCall: { id: call.id, name: functionName(call), args: functionInput(call) },
    ...(at === 0 ? { thoughtSignature: signature } : {}),
  })),
]

const candidate = (parts: ReadonlyArray<JsonObject>, more: JsonObject = {}): JsonObject => ({
  candidates: [{ content: { role: "model", parts }, ...more }],
})

const answer = (said: Said, isStream: boolean): Response => {
  const parts = partsOf(said)
  const end = { finishReason: "STOP" }
  if (!isStream) return Response.json({ ...candidate(parts, end), usageMetadata })
  const events = [...parts.map((part) => candidate([part])), { ...candidate([], end), usageMetadata }]
  return new Response(events.map((event) => `data: ${JSON.stringify(event)}\r\n\r\n`).join(""), {
    headers: { "content-type": "text/event-stream" },
  })
}

/** Stands for the signature of a call that another host has made. */
const foreign = "skip_thought_signature_validator"

const linesOf = (role: string, part: JsonObject): ReadonlyArray<string> => {
  const { functionCall: called, thoughtSignature: signed } = part
  if (called === undefined) return [lineOf(role, part)]
  const { id, name, args } = objectIn(called)
  const sealed = signed === undefined || signed === foreign ? [] : [line.thought("", textIn(signed))]
  return [...sealed, line.call(textIn(id), textIn(name), args)]
}

const lineOf = (role: string, part: JsonObject): string => {
  const { functionResponse: result } = part
  if (result !== undefined) {
    const { id, response } = objectIn(result)
    // A text stands in `result`; one that is JSON was read.
    const { result: said = response } = objectIn(response)
    return line.result(textIn(id), typeof said === "string" ? said : JSON.stringify(said))
  }
  return part["thought"] === true ? line.thought(textIn(part["text"]), "") : line.message(role, textIn(part["text"]))
}

const asked = (body: JsonObject): Asked => ({
  tools: objectsIn(body["tools"]).flatMap((tool): Asked["tools"] =>
    tool["functionDeclarations"] === undefined
      ? [{ name: Object.keys(tool).join(), kind: "hosted" }]
      : objectsIn(tool["functionDeclarations"]).map(({ name, parametersJsonSchema: parameters }) => ({
          name: textIn(name),
          kind: kindOf(parameters),
          parameters,
        })),
  ),
  turns: [
    ...objectsIn(objectIn(body["systemInstruction"])["parts"]).map((part) => lineOf("system", part)),
    ...objectsIn(body["contents"]).flatMap(({ role, parts }) =>
      objectsIn(parts).flatMap((part) => linesOf(role === "model" ? "assistant" : "user", part)),
    ),
  ],
})

const known = ["contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "safetySettings"]

const refusals = (body: JsonObject): ReadonlyArray<string> => {
  const turns = objectsIn(body["contents"]).map(({ parts }) => objectsIn(parts))
  const of = (parts: ReadonlyArray<JsonObject>, member: string) =>
    parts.filter((part) => part[member] !== undefined).map((part) => objectIn(part[member])["id"])
  return [
    ...refusedMembers(body, known, "body"),
    ...refusedNames(asked(body).tools.map(({ name }) => name)),
    // As many results as calls, in the turn after them.
    ...turns.flatMap((parts, at) =>
      refusedPairs(of(parts, "functionCall"), of(turns[at + 1] ?? [], "functionResponse")),
    ),
    ...turns.flatMap((parts) => {
      const [first] = parts.filter(({ functionCall: called }) => called !== undefined)
      return first !== undefined && first["thoughtSignature"] === undefined ? ["a call without a signature"] : []
    }),
  ]
}

export const gemini: AgentHost = {
  name: "gemini",
  provider: { plugin: "google-ai-studio" },
  model: "gemini-3.5-flash",
  givesIds: true,
  isToThink: (body) => objectIn(objectIn(body["generationConfig"])["thinkingConfig"])["includeThoughts"] === true,
  seal: "",
  signature,
  answer,
  asked,
  refusals,
}
