/** A valid plugin for the tests of the conformance kit, and ways to break it in one place. */
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import {
  chatProtocol,
  defineProvider,
  type Encoded,
  HostFailed,
  httpError,
  isJsonObject,
  type JsonObject,
  type ListedModel,
  type Protocol,
  type Provider,
} from "headgate/plugin"
import type { Check, ProviderSubject } from "headgate/testing"

/** Names of the checks that fail, and their messages. */
export const failuresOf = async (checks: ReadonlyArray<Check>): Promise<ReadonlyMap<string, string>> => {
  const failures = new Map<string, string>()
  for (const { name, run } of checks) {
    try {
      await run()
    } catch (cause) {
      failures.set(name, cause instanceof Error ? cause.message : String(cause))
    }
  }
  return failures
}

/** What this check alone says; `undefined`: it passes. Checks of other names do not run. */
export const failureOf = async (checks: ReadonlyArray<Check>, name: string): Promise<string | undefined> => {
  const named = checks.filter((check) => check.name === name)
  if (named.length !== 1) throw new Error(`${named.length} checks are called "${name}"`)
  return (await failuresOf(named)).get(name)
}

/** Name of a check, how it is broken, the broken plugin, and a part of the check's message. */
export type Broken<A> = readonly [check: string, what: string, broken: A, says: string]

export const wholeOf = (more: object) =>
  Response.json({
    choices: [{ index: 0, message: { role: "assistant", content: "hi there" }, finish_reason: "stop" }],
    ...more,
  })
export const usage = { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 }
export const answer = () => wholeOf({ usage })

export const event = (choice: object, more: object = {}) =>
  `data: ${JSON.stringify({ id: "1", choices: [{ index: 0, finish_reason: null, ...choice }], ...more })}\n\n`
export const bytes = [
  event({ delta: { content: "hi" } }),
  event({ delta: { content: " thère" } }),
  event({ delta: { content: " now" } }),
  event({ delta: {}, finish_reason: "stop" }, { usage }),
  "data: [DONE]\n\n",
].join("")

export const chat = chatProtocol()
const models: ReadonlyArray<ListedModel> = [
  { id: "acme/small", context_length: 1000, hosts: [{ pricing: { prompt: "0", completion: "0" } }] },
]
export const provider: Provider = { protocols: { chat }, error: httpError, models: async () => models }
export const definition = {
  id: "acme",
  name: "Acme",
  baseUrl: "https://api.acme.example/v1",
  config: Schema.Struct({}),
}
export const good = defineProvider({ ...definition, load: () => provider })
export const subject: ProviderSubject = {
  plugin: good,
  config: { api_key: "key-of-acme-1234" },
  answer,
  streams: [{ name: "words", bytes, expects: { text: "hi thère now", finishReason: "stop" } }],
}

/** The valid plugin with these members of its provider replaced. */
export const withProvider = (more: Partial<Provider>): ProviderSubject => ({
  ...subject,
  plugin: defineProvider({ ...definition, load: () => ({ ...provider, ...more }) }),
})
export const withProtocol = (more: Partial<Protocol>) => withProvider({ protocols: { chat: { ...chat, ...more } } })
export const writing = (change: (encoded: Encoded) => Encoded) =>
  withProtocol({ encode: (request, host) => Either.map(chat.encode(request, host), change) })
/** The JSON of a request. */
export const bodyOf = ({ body }: Encoded): JsonObject => {
  const json: unknown = JSON.parse(String(body))
  return isJsonObject(json) ? json : {}
}
export const withBody = (change: (body: JsonObject) => JsonObject) =>
  writing((encoded) => ({ ...encoded, body: JSON.stringify(change(bodyOf(encoded))) }))
export const failing = (
  change: (status: number, failure: HostFailed, body: unknown) => ConstructorParameters<typeof HostFailed>[0],
) =>
  withProvider({
    error: (status, headers, body) => new HostFailed(change(status, httpError(status, headers, body), body)),
  })
