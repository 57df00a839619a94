/**
 * What a scripted host is to the tests of agents: it says what the test wants in its own protocol, and what it was sent is read back
 * into one shape, so that a test compares hosts of every protocol.
 */
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { objectsIn, textIn } from "../forms/script.ts"

/** A call as the agent has to know it. */
export interface Called {
  /** `search`: of a `tool_search` that the agent runs itself. */
  readonly kind: "function" | "custom" | "search"
  readonly id: string
  readonly name: string
  readonly namespace?: string
  /** Of a custom tool its text. */
  readonly input: JsonObject | string
}

/** One answer of a host. */
export interface Said {
  /** Said where the host is asked to reason. */
  readonly thought?: string
  readonly text?: string
  readonly calls: ReadonlyArray<Called>
  /** Items in place of all this, at a host of the Responses form. */
  readonly items?: ReadonlyArray<JsonObject>
}

/** A tool on the wire. */
export interface Offered {
  readonly name: string
  /** `text`: a function whose only argument is a text called `input`, which a custom tool is to hosts that have none. */
  readonly kind: "function" | "text" | "custom" | "search" | "hosted"
  /** The schema of its arguments; `undefined`: it has none. */
  readonly parameters?: unknown
}

/** What a host was sent. */
export interface Asked {
  readonly tools: ReadonlyArray<Offered>
  /** The conversation, one line for each thing that was said: see `line`. */
  readonly turns: ReadonlyArray<string>
}

export interface AgentHost {
  readonly name: string
  /** Of the provider in the configuration. */
  readonly provider: { readonly plugin: string } & JsonObject
  /** The host's name of the model. */
  readonly model: string
  /** Whether it gives calls ids of its own. */
  readonly givesIds: boolean
  /** Whether a request asks it to reason, in a way that makes it tell its reasoning. */
  readonly isToThink: (body: JsonObject) => boolean
  /** What stands beside the text of its reasoning, and has to come back with it. */
  readonly seal: string
  /** What it signs the first call of each answer with, whether it reasons or not; it has to come back. Absent: it does not. */
  readonly signature?: string
  readonly answer: (said: Said, isStream: boolean) => Response
  readonly asked: (body: JsonObject) => Asked
  /** What the vendor's own host would refuse. Empty: it takes the request. */
  readonly refusals: (body: JsonObject) => ReadonlyArray<string>
}

/** The lines of `Asked.turns`. */
export const line = {
  message: (role: string, text: string): string => `${role}: ${text}`,
  thought: (text: string, seal: string): string => `thought: ${text}${seal === "" ? "" : ` [${seal}]`}`,
  call: (id: string, name: string, input: unknown): string => `call ${id}: ${name} ${JSON.stringify(input)}`,
  result: (id: string, text: string): string => `result ${id}: ${text}`,
}

/** The texts of a content. */
export const textsOf = (content: unknown): ReadonlyArray<string> =>
  typeof content === "string" ? [content] : objectsIn(content).map(({ text }) => textIn(text))

/** What somebody says, a line for each part that is not empty. */
export const messageLines = (role: string, content: unknown): ReadonlyArray<string> =>
  textsOf(content)
    .filter((text) => text !== "")
    .map((text) => line.message(role, text))

/** The name of the function that hosts of other forms than Responses are sent for a tool. */
export const functionName = ({ namespace, name }: Pick<Called, "name" | "namespace">): string =>
  namespace === undefined ? name : `${namespace}__${name}`

/** The same at a host of the Responses form. */
export const fullName = ({ namespace, name }: Pick<Called, "name" | "namespace">): string =>
  namespace === undefined ? name : `${namespace}.${name}`

/** The arguments with which such hosts call it. */
export const functionInput = ({ input }: Called): JsonObject => (typeof input === "string" ? { input } : input)

/** The kind of a function by the schema of its arguments. */
export const kindOf = (parameters: unknown): "function" | "text" => (isOneText(parameters) ? "text" : "function")

const isOneText = (parameters: unknown): boolean => {
  const { properties, required } = Object(parameters)
  return (
    Object(properties?.input).type === "string" &&
    Object.keys(properties).length === 1 &&
    JSON.stringify(required) === '["input"]'
  )
}

/** Every host takes only such names, each once. */
export const refusedNames = (names: ReadonlyArray<string>): ReadonlyArray<string> => [
  ...names.filter((name) => !/^[a-zA-Z0-9_-]{1,64}$/.test(name)).map((name) => `a tool called ${name}`),
  ...names.filter((name, at) => names.indexOf(name) !== at).map((name) => `two tools called ${name}`),
]

/** Calls and results have to belong together. */
export const refusedPairs = (calls: ReadonlyArray<unknown>, results: ReadonlyArray<unknown>): ReadonlyArray<string> => [
  ...calls
    .filter((id) => results.filter((other) => other === id).length !== 1)
    .map((id) => `a call ${id} without its result`),
  ...results.filter((id) => !calls.includes(id)).map((id) => `a result ${id} without its call`),
]

/** Members that the vendor's reference does not have. */
export const refusedMembers = (value: JsonObject, known: ReadonlyArray<string>, what: string): ReadonlyArray<string> =>
  Object.keys(value)
    .filter((name) => !known.includes(name))
    .map((name) => `${what}.${name}`)
