/** What a host has to be sent of an agent's request, and what it was sent. */
import { expect } from "bun:test"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { objectsIn, textIn } from "../forms/script.ts"
import { fullName, functionInput, functionName, kindOf, line, messageLines, type Offered } from "./AgentHost.ts"
import { agentForms, type FormName, type HistoryLines, type Tool } from "./forms.ts"
import { agentHosts, type HostName } from "./hosts.ts"
import type { AgentScene } from "./scene.ts"
import type { Task } from "./Task.ts"

/** What a host is to be offered: names and kinds as they are at a host of the Responses form, elsewhere functions. */
export const toolsAt = (host: HostName, tools: ReadonlyArray<Tool>): ReadonlyArray<Offered> =>
  tools.map((tool) => {
    const { kind, parameters } = tool
    const given = parameters === undefined ? {} : { parameters }
    if (host === "responses")
      return { name: fullName(tool), kind: kind === "function" ? kindOf(parameters) : kind, ...given }
    return { name: functionName(tool), kind: kind === "custom" ? "text" : kindOf(parameters), ...given }
  })

/** A tool by its name; `name*`: a function of one text; others with their kind. */
export const shownTool = ({ name, kind }: Offered): string =>
  kind === "function" ? name : kind === "text" ? `${name}*` : `${kind} ${name}`

/** Reasoning that the request has, as the host gets it. */
export const thoughtsIn = (form: FormName, body: JsonObject, host: HostName): ReadonlyArray<string> => {
  if (form === "responses") {
    return objectsIn(body["input"])
      .filter(({ type }) => type === "reasoning")
      .flatMap(({ summary, encrypted_content: data }) => {
        const text = textIn(objectsIn(summary)[0]?.["text"])
        if (host === "responses") return [line.thought(text, textIn(data))]
        if (host === "chat") return [line.thought(text, ""), line.thought("", textIn(data))]
        return host === "ollama" ? [line.thought(text, "")] : []
      })
  }
  if (host !== "chat" && host !== "ollama") return []
  return objectsIn(body["messages"]).flatMap((message) => {
    const text = textIn(message["reasoning"] ?? message["reasoning_content"])
    return text === "" ? [] : [line.thought(text, "")]
  })
}

/** The result of a search of tools at hosts that know none. */
const foundText = (tools: ReadonlyArray<Tool>): string =>
  ["These tools can be called now:", ...tools.map((tool) => `- ${functionName(tool)}: ${tool.description}`)].join("\n")

/** A host of the agent's own form gets the conversation and the tools as they came, but for tools that are dropped. */
export const checkAsItWas = ({ form }: Task, sent: JsonObject, body: JsonObject, dropped: string): void => {
  if (form === "chat") return
  const names = dropped.split(", ")
  for (const name of ["input", "messages", "system", "instructions", "tools", "tool_choice", "parallel_tool_calls"]) {
    const given = body[name]
    expect([name, sent[name]]).toEqual([name, keptOf(name, given, names)])
  }
}

const keptOf = (name: string, given: unknown, dropped: ReadonlyArray<string>): unknown => {
  if (dropped.includes(name)) return undefined
  if (!Array.isArray(given)) return given
  const left = given.filter((_, at) => !dropped.includes(`${name}[${at}]`))
  if (name === "tools") return left.length === 0 ? undefined : left
  return name !== "input"
    ? left
    : given.map((item, at) =>
        Array.isArray(item?.tools) ? { ...item, tools: keptOf(`input[${at}].tools`, item.tools, dropped) } : item,
      )
}

/** How calls and results reach a host: as they are at a host of the Responses form, elsewhere as functions. */
const linesAt = (host: HostName): HistoryLines => {
  const idOf = (id: string) => (agentHosts[host].givesIds ? id : "")
  return {
    call: (call) =>
      host === "responses"
        ? line.call(call.id, fullName(call), call.input)
        : line.call(idOf(call.id), functionName(call), functionInput(call)),
    result: (id, text) => line.result(idOf(id), text),
    found: (id, tools) => line.result(idOf(id), host === "responses" ? "tools" : foundText(tools)),
    message: (from, to, content) => [
      ...(host === "responses" ? [] : [line.message("user", `Message from ${from} to ${to}:`)]),
      ...messageLines("user", content),
    ],
  }
}

/** Ollama takes a text for each message, so that parts are joined. */
const joined = (entries: ReadonlyArray<string>): ReadonlyArray<string> => {
  const found: Array<string> = []
  for (const entry of entries) {
    const [role] = /^(?:system|developer|user): /.exec(entry) ?? []
    const last = found.at(-1)
    if (role !== undefined && last?.startsWith(role)) found[found.length - 1] = last + entry.slice(role.length)
    else found.push(entry)
  }
  return found
}

/** Forms have one or two names for who instructs the model; hosts that know one message of it get a blank line before each further text. */
const plain = (entry: string): string => entry.replace(/^(?:developer|instructions|system): (?:\n\n)?/, "system: ")

/** Without the mark of arguments that only hosts of the Responses form encrypt. */
const unmarked = (schema: unknown): unknown =>
  schema === undefined
    ? undefined
    : JSON.parse(JSON.stringify(schema), (name, value: unknown) =>
        name === "encrypted" && value === true ? undefined : value,
      )

/**
 * What the host got: as many words as the agent wrote, exactly these tools, nothing that its vendor would refuse. Returns the lines of
 * its reasoning.
 */
export const checkSent = (
  scene: AgentScene,
  { form, runs }: Task,
  host: HostName,
  body: JsonObject,
): ReadonlyArray<string> => {
  const sent = scene.sentTo(host)
  const { asked, refusals } = agentHosts[host]
  expect(refusals(sent)).toEqual([])
  const got = asked(sent)
  const tools = toolsAt(host, agentForms[form].tools(body))
  const ofAgent = got.tools.filter(({ kind }) => kind !== "hosted")
  const ofHost = got.tools.filter(({ kind }) => kind === "hosted")
  expect(ofAgent.map(shownTool)).toEqual(tools.map(shownTool))
  expect(ofHost.map(({ name }) => name).join(", ")).toBe(runs?.[host] ?? "")
  // Schemas are carried as they are. Some hosts want one where the agent gives none.
  const schemas = (all: ReadonlyArray<Offered>) =>
    all.map(({ parameters }, at) => (tools[at]?.parameters === undefined ? undefined : parameters))
  const isOwnForm = host === "responses" && form === "responses"
  expect(schemas(ofAgent)).toEqual(isOwnForm ? schemas(tools) : schemas(tools).map(unmarked))
  const isThought = (entry: string) => entry.startsWith("thought: ")
  const said = agentForms[form].turns(body, linesAt(host))
  const shown = (entries: ReadonlyArray<string>) => (host === "ollama" ? joined(entries) : entries).map(plain)
  expect(shown(got.turns.filter((entry) => !isThought(entry)))).toEqual(shown(said))
  return got.turns.filter(isThought)
}
