/** Kinds of broken plugin, each as the source of a folder `plugins/providers/<id>`. */

export interface Kind {
  /** Of the folder. */
  readonly id: string
  /** What it does wrong, for the table. */
  readonly does: string
  /** A module in JavaScript; `chat`, `answer`, `provider` and `plugin` are there. */
  readonly source: string
  /** Whether its model is asked, and how. Default: not at all, since it is off. */
  readonly asked?: "whole" | "stream"
  /** What its error says, where a line of it does not name the plugin. */
  readonly wording?: string
  /** What happens besides, while the gateway runs. */
  readonly besides?: "removed"
}

/** What each module begins with. Its provider answers in place of the network, so that no host is needed. */
export const moduleOf = ({ id, source }: Kind): string => `
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { chatProtocol, defineProvider, HostFailed, httpError, noAuth } from "headgate/plugin"
const chat = chatProtocol()
const usage = { prompt_tokens: 3, completion_tokens: 1 }
const chunk = (choice, more = {}) => "data: " + JSON.stringify({ id: "1", choices: [{ index: 0, finish_reason: null, ...choice }], ...more }) + "\\n\\n"
const answer = async (request) => {
  if (JSON.parse(await request.text()).stream !== true)
    return Response.json({ id: "1", choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: "hi" } }], usage })
  const text = chunk({ delta: { content: "hi" } }) + chunk({ delta: {}, finish_reason: "stop" }, { usage }) + "data: [DONE]\\n\\n"
  return new Response(text, { headers: { "content-type": "text/event-stream" } })
}
const host = { pricing: { prompt: "0", completion: "0" } }
const models = async () => [{ id: "${id}/m", context_length: 1000, hosts: [host] }]
const provider = (more = {}) => ({ protocols: { chat }, error: httpError, transport: answer, models, ...more })
const speaking = (more) => provider({ protocols: { chat: { ...chat, transparent: false, ...more } } })
const plugin = (load, more = {}) =>
  defineProvider({ id: "${id}", name: "${id}", baseUrl: "https://host.test/v1", auth: noAuth, always: true, config: Schema.Struct({}), load, ...more })
${source}
`

const kind = (
  id: string,
  does: string,
  source: string,
  more: Pick<Kind, "asked" | "besides" | "wording"> = {},
): Kind => ({
  ...{ id, does, source, ...more },
})

/** Those that are off after the start. */
export const offKinds: ReadonlyArray<Kind> = [
  kind("throws-on-import", "throws on import", `throw new Error("no disk")`),
  kind("syntax-error", "is no JavaScript", `export default {`),
  kind(
    "missing-package",
    "imports a missing package",
    `import "headgate-no-such-package"\nexport default plugin(() => provider())`,
  ),
  kind(
    "waits-on-import",
    "never ends its import",
    `await new Promise(() => {})\nexport default plugin(() => provider())`,
  ),
  kind("no-plugin", "has another default export", `export default { id: "no-plugin" }`),
  kind("two-ids", "has another id than its folder", `export default { ...plugin(() => provider()), id: "another-id" }`),
  kind(
    "other-contract",
    "is made for another contract",
    `export default { ...plugin(() => provider()), contract: 99 }`,
  ),
  kind(
    "throws-in-a-getter",
    "has a member that throws when it is read",
    `export default { ...plugin(() => provider()), get auth() { throw new Error("no auth") } }`,
  ),
  kind("throws-in-load", "throws in `load`", `export default plugin(() => { throw new Error("no region") })`),
  kind("rejects-in-load", "rejects in `load`", `export default plugin(async () => { throw new Error("no region") })`),
  kind("waits-in-load", "never ends `load`", `export default plugin(() => new Promise(() => {}))`),
  kind("no-protocol", "gives no protocol", `export default plugin(() => provider({ protocols: {} }))`),
  kind("no-error", "gives no `error`", `export default plugin(() => provider({ error: undefined }))`),
  kind(
    "bad-model",
    "lists a model with an unknown field",
    `export default plugin(() => provider({ models: async () => [{ id: "bad-model/m", context_length: 1000, colour: "red", hosts: [host] }] }))`,
  ),
  kind(
    "rejects-in-models",
    "rejects in `models`",
    `export default plugin(() => provider({ models: async () => { throw new Error("no list") } }))`,
  ),
  kind(
    "waits-in-models",
    "never ends `models`",
    `export default plugin(() => provider({ models: () => new Promise(() => {}) }))`,
  ),
]

/** Those that are on, and do something wrong when they are asked. */
export const askedKinds: ReadonlyArray<Kind> = [
  kind("mistral", "has the id of one of the gateway's own", `export default plugin(() => provider())`, {
    asked: "whole",
  }),
  kind(
    "throws-in-encode",
    "throws in `encode`",
    `export default plugin(() => speaking({ encode: () => { throw new Error("no words") } }))`,
    { asked: "whole" },
  ),
  kind(
    "throws-in-decode",
    "throws in `decode`",
    `export default plugin(() => speaking({ decode: () => { throw new Error("no words") } }))`,
    { asked: "whole" },
  ),
  kind(
    "promises-in-decode",
    "gives a promise in `decode`",
    `export default plugin(() => speaking({ decode: async (...asked) => chat.decode(...asked) }))`,
    { asked: "whole" },
  ),
  kind(
    "half-an-answer",
    "gives an answer without choices",
    `export default plugin(() => speaking({ decode: () => ({ usage }) }))`,
    { asked: "whole" },
  ),
  kind(
    "throws-in-a-stream",
    "throws in an event of a stream",
    `export default plugin(() => speaking({ decoder: () => ({ event: () => { throw new Error("no words") }, end: () => [] }) }))`,
    { asked: "stream" },
  ),
  kind(
    "throws-in-sign",
    "throws in `sign`",
    `export default plugin(() => provider({ sign: () => { throw new Error("no key") } }))`,
    { asked: "whole" },
  ),
  kind("waits-in-sign", "never ends `sign`", `export default plugin(() => provider({ sign: () => Effect.never }))`, {
    asked: "whole",
  }),
  kind(
    "throws-in-error",
    "throws in `error`",
    `export default plugin(() => provider({ transport: async () => new Response("no", { status: 500 }), error: () => { throw new Error("no words") } }))`,
    { asked: "whole" },
  ),
  kind(
    "rejects-in-transport",
    "rejects in `transport`",
    `export default plugin(() => provider({ transport: async () => { throw new Error("no cable") } }))`,
    { asked: "whole" },
  ),
  kind(
    "no-response",
    "gives no response in `transport`",
    `export default plugin(() => provider({ transport: async () => 7 }))`,
    { asked: "whole" },
  ),
  kind(
    "rejects-unheard",
    "leaves a rejected promise behind in `decode`",
    `export default plugin(() => speaking({ decode: (...asked) => { void Promise.reject(new Error("unheard")); return chat.decode(...asked) } }))`,
    { asked: "whole" },
  ),
  kind(
    "changes-the-request",
    "changes the messages in `encode`",
    `export default plugin(() => speaking({ encode: (request, at) => { request.payload.messages.length = 0; return chat.encode(request, at) } }))`,
    { asked: "whole" },
  ),
  kind(
    "writes-to-stdout",
    "writes to standard output",
    `export default plugin(() => speaking({ decode: (...asked) => { console.log("written by a plugin"); return chat.decode(...asked) } }))`,
    { asked: "whole" },
  ),
  kind("leaks-a-timer", "leaves a timer behind", `setInterval(() => {}, 50)\nexport default plugin(() => provider())`, {
    asked: "whole",
  }),
  kind("is-removed", "its folder is removed while it runs", `export default plugin(() => provider())`, {
    asked: "whole",
    besides: "removed",
  }),
]

/** Those that do something to the whole process. Each has a gateway of its own. */
export const processKinds: ReadonlyArray<Kind> = [
  kind("exits-on-import", "ends the process on import", `process.exit(3)`),
  kind(
    "exits-in-a-hook",
    "ends the process in `decode`",
    `export default plugin(() => speaking({ decode: () => process.exit(3) }))`,
    { asked: "whole" },
  ),
  kind(
    "throws-once-read",
    "has a member that throws when it is read again",
    `let times = 0
export default { ...plugin(() => provider()), get auth() { if (times++ > 0) throw new Error("no throws-once-read auth"); return noAuth } }`,
  ),
  kind("loops-on-import", "loops for ever on import", `for (;;) Bun.sleepSync(50)`),
  kind(
    "loops-in-a-hook",
    "loops for ever in `decode`",
    `export default plugin(() => speaking({ decode: () => { for (;;) Bun.sleepSync(50) } }))`,
    { asked: "whole" },
  ),
  kind(
    "throws-in-a-timer",
    "throws in a timer",
    `export default plugin(() => speaking({ decode: (...asked) => { setTimeout(() => { throw new Error("late") }, 1); return chat.decode(...asked) } }))`,
    { asked: "whole" },
  ),
  kind(
    "patches-a-prototype",
    "replaces a method of `Array.prototype`",
    `Array.prototype.map = () => { throw new Error("patched") }\nexport default plugin(() => provider())`,
    { wording: "patched" },
  ),
]
