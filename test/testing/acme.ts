/** A good plugin for the conformance kit's own tests, and ways to break it in one place. */
import * as Schema from "effect/Schema"
import {
  chatForm,
  defineProvider,
  HostFailed,
  httpError,
  type JsonObject,
  type Provider,
  type UpstreamRequest,
  type WireForm,
} from "headgate/plugin"
import type { Check, ProviderSubject } from "headgate/testing"

/** Names of the checks that fail, and what they say. */
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

/** A check by its name, how it is broken, the broken plugin, and a part of what the check says. */
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

export const chat = chatForm()
export const models = [
  { id: "acme/small", context_length: 1000, hosts: [{ pricing: { prompt: "0", completion: "0" } }] },
]
export const provider: Provider = { operations: { chat }, error: httpError, models }
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

/** The good plugin, whose provider has these members in place of its own. */
export const withProvider = (more: Partial<Provider>): ProviderSubject => ({
  ...subject,
  plugin: defineProvider({ ...definition, load: () => ({ ...provider, ...more }) }),
})
export const withForm = (more: Partial<WireForm>) => withProvider({ operations: { chat: { ...chat, ...more } } })
export const writing = (change: (written: UpstreamRequest) => UpstreamRequest) =>
  withForm({ request: (request, host) => change(chat.request(request, host)) })
export const withBody = (more: JsonObject) => writing((written) => ({ ...written, body: { ...written.body, ...more } }))
export const failing = (
  change: (status: number, failure: HostFailed, body: unknown) => ConstructorParameters<typeof HostFailed>[0],
) =>
  withProvider({
    error: (status, headers, body) => new HostFailed(change(status, httpError(status, headers, body), body)),
  })
