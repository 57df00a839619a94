/**
 * Every form at a host of every protocol, with every member that any of them knows, also nested, in other case and with blanks. What
 * is looked at is what reached the host over a socket. See docs/guarantees.md#g36.
 */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { isJsonObject, type JsonObject } from "../../../src/domain/json/json.ts"
import { normalName } from "../../../src/domain/request/hostedTools.ts"
import { operations } from "../../../src/domain/request/operations.ts"
import { routerOnly } from "../../../src/domain/request/request.ts"
import { costlyMembers, credentialMembers } from "../../../src/formats/request/members.ts"
import { document } from "../../support/clients/openApi.ts"
import { forms, type Hosts, minimal, type ProtocolName, protocols, startHosts } from "./hosts.ts"

let hosts: Hosts
beforeAll(async () => {
  hosts = await startHosts()
})
afterAll(() => hosts.stop())

/** Names of members in the requests that the API's own description has. */
const described = ((): ReadonlyArray<string> => {
  const names = new Set<string>()
  const look = (value: unknown): void => {
    if (Array.isArray(value)) for (const each of value) look(each)
    else if (isJsonObject(value)) {
      for (const name of Object.keys(isJsonObject(value["properties"]) ? value["properties"] : {})) names.add(name)
      for (const each of Object.values(value)) look(each)
    }
  }
  look(document)
  return [...names]
})()

/** What protocols write, and what vendors' APIs have beside. */
const ofVendors = [
  ...[
    "input",
    "instructions",
    "system",
    "thinking",
    "output_config",
    "max_tool_calls",
    "previous_response_id",
    "include",
  ],
  ...["contents", "systemInstruction", "generationConfig", "toolConfig", "cachedContent", "safetySettings", "labels"],
  ...["inferenceConfig", "toolConfig", "additionalModelRequestFields", "guardrailConfig", "promptVariables"],
  ...["options", "think", "format", "keep_alive", "truncate", "documents", "citation_options", "safety_mode"],
  ...["chat_template_kwargs", "enable_thinking", "reasoning_format", "reasoning_split", "search_domain_filter"],
]

/** Values that would do harm wherever they arrived. `mark`: how they are recognised. */
const mark = "headgate_mark"
const harmful: ReadonlyArray<readonly [string, unknown]> = [
  ["a reference", { file_id: mark }],
  ["a reference deep within", [{ a: { "FILE-IDS ": [mark] } }]],
  ["a server", { type: "x", x: { server_url: `https://${mark}.example` } }],
  ["an item", [{ type: " Item_Reference", id: mark }]],
  ["a file of the machine", { a: { image_url: { url: `file:///${mark}` } } }],
  ["an address within", { url: `http://169.254.169.254/${mark}` }],
  ["a tool that reaches out", { type: "MCP ", server_label: mark }],
]

/** Some are the same, such as those of a name of one word. */
const spellings = (name: string): ReadonlyArray<string> => [
  name,
  name.toUpperCase(),
  ` ${name}`,
  `${name} `,
  name.replaceAll("_", "-"),
  name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
]

/** Members in which a caller's JSON may be anything: no host acts on it. Documents are ranked and cited as texts. */
const anyJson: ReadonlySet<string> = new Set([
  "documents",
  ...["metadata", "labels", "logit_bias", "format", "client_metadata", "requestMetadata", "annotations", "citations"],
  "logprobs",
])

/** Costly in other forms, where it is not known what they would do. */
const ofMessages: ReadonlySet<string> = new Set(["context_management", "safeguards"])

const send = async (form: string, protocol: ProtocolName, members: JsonObject) => {
  const { status, sent, dropped } = await hosts.ask(form, protocol, { ...members, ...minimal[form] })
  return { status, dropped, sent, text: JSON.stringify(sent ?? null) }
}

/** Whether all that the protocol wrote is there: beside it may stand what the caller adds, such as options of a server. */
const contains = (sent: unknown, written: unknown): boolean =>
  isJsonObject(written) && isJsonObject(sent)
    ? Object.entries(written).every(([name, value]) => contains(sent[name], value))
    : JSON.stringify(sent) === JSON.stringify(written)

for (const form of forms) {
  for (const protocol of protocols) {
    test(`${form} at a host of the protocol ${protocol}: nothing harmful arrives, whatever member it is in`, async () => {
      const names = new Set([
        ...[...described, ...ofVendors, ...costlyMembers, ...credentialMembers],
        ...[...routerOnly, ...Object.values(operations).flatMap(({ members }) => [...members])],
      ])
      for (const name of Object.keys(minimal[form] ?? {})) names.delete(name)
      names.delete("model")
      names.delete("models")
      const wrong: Array<string> = []
      let at = 0
      for (const name of names) {
        // Every value meets every name and spelling, over the forms and protocols.
        const [what, value] = harmful[at++ % harmful.length] ?? ["", undefined]
        for (const spelt of new Set([name, spellings(name)[at % 6] ?? name])) {
          const { status, text } = await send(form, protocol, { [spelt]: value })
          if (status >= 500) wrong.push(`${spelt} with ${what}: ${status}`)
          if (text.includes(mark) && !anyJson.has(spelt)) wrong.push(`${spelt} with ${what}: arrived`)
        }
      }
      expect(wrong).toEqual([])
      expect(at).toBeGreaterThan(150)
    }, 1_800_000)

    test(`${form} at a host of the protocol ${protocol}: what is written is the protocol's, in whatever spelling it is asked for`, async () => {
      const plain = (await send(form, protocol, {})).sent ?? {}
      const own = new Set(Object.keys(plain))
      const wrong: Array<string> = []
      for (const name of new Set([...own, ...costlyMembers, ...ofVendors])) {
        if (name === "model" || Object.hasOwn(minimal[form] ?? {}, name)) continue
        for (const spelt of new Set(spellings(name))) {
          const { status, sent, dropped } = await send(form, protocol, { [spelt]: { [mark]: 1 } })
          if (status !== 200 || sent === undefined) continue
          const normal = new Set<string>()
          for (const member of Object.keys(sent)) {
            if (normal.has(normalName(member))) wrong.push(`${spelt}: ${member} stands there twice`)
            normal.add(normalName(member))
          }
          for (const member of own) {
            if (!contains(sent[member], plain[member])) wrong.push(`${spelt}: ${member} was replaced`)
          }
          const isThere = JSON.stringify(sent).includes(mark)
          if (!isThere && dropped.length === 0 && !routerOnly.has(spelt)) wrong.push(`${spelt}: lost in silence`)
          if (isThere && costlyMembers.includes(spelt) && !(form === "/messages" && ofMessages.has(spelt)))
            wrong.push(`${spelt}: arrived`)
        }
      }
      expect(wrong).toEqual([])
    }, 1_800_000)
  }
}
