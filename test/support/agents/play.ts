/** Plays a task of an agent at a host: the request, then one for each step of the task, with what the host said before. */
import { expect } from "bun:test"
import type { JsonObject } from "../../../src/domain/Json.ts"
import { explainedBy } from "../explained.ts"
import { objectIn, objectsIn, present, textIn } from "../forms/script.ts"
import { type Called, fullName, kindOf, line, type Offered, told, toldInput, toldName } from "./AgentHost.ts"
import { agentForms, type FormName, type Heard, type Keeps, type Result, type Told, type Tool } from "./forms.ts"
import { agentHosts, type HostName } from "./hosts.ts"
import { type AgentScene, modelAt, searchingModelAt, slugOf } from "./scene.ts"

/** What the host calls in one answer, and what comes of it. */
export interface Step {
  readonly calls: ReadonlyArray<Omit<Called, "id">>
  /** Tools that the search of this step finds. */
  readonly found?: ReadonlyArray<JsonObject>
}

export interface Task {
  readonly form: FormName
  readonly headers: Readonly<Record<string, string>>
  readonly body: JsonObject
  readonly keeps: Keeps
  readonly steps: ReadonlyArray<Step>
  /** Whether hosts have a price for searches. */
  readonly searches?: boolean
  /** What hosts are to run, by host. Default: nothing. */
  readonly runs?: Readonly<Partial<Record<HostName, string>>>
}

/** What a host is to be offered: names and kinds as they are at a host of the Responses form, elsewhere functions. */
export const toolsAt = (host: HostName, tools: ReadonlyArray<Tool>): ReadonlyArray<Offered> =>
  tools.map((tool) => {
    const { kind, parameters } = tool
    const given = parameters === undefined ? {} : { parameters }
    if (host === "responses")
      return { name: fullName(tool), kind: kind === "function" ? kindOf(parameters) : kind, ...given }
    return { name: toldName(tool), kind: kind === "custom" ? "text" : kindOf(parameters), ...given }
  })

/** A tool by its name; `name*`: a function of one text; others with their kind. */
export const shownTool = ({ name, kind }: Offered): string =>
  kind === "function" ? name : kind === "text" ? `${name}*` : `${kind} ${name}`

export const thought = (turn: number): string => `Thought ${turn}: the file first.`

/** Reasoning that the request has, as the host gets it. */
const thoughtsIn = (form: FormName, body: JsonObject, host: HostName): ReadonlyArray<string> => {
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

const modelOf = ({ searches = false }: Task, host: HostName): string =>
  searches ? searchingModelAt(host) : modelAt(host)

/** A request to the gateway, as the agent sends it. */
export const ask = (scene: AgentScene, task: Task, model: string, body: JsonObject): Promise<Response> => {
  const { path } = agentForms[task.form]
  return scene.gateway.call(path, {
    method: "POST",
    headers: task.headers,
    body: JSON.stringify({ ...body, model }),
  })
}

/** `dropped`: what `X-GW-Dropped` says in the first turn. `later`: in those that follow. */
export const play = async (
  scene: AgentScene,
  task: Task,
  host: HostName,
  isStream: boolean,
  dropped: string,
  later = dropped,
) => {
  const { body: first, steps, form } = task
  const { stream_options: options, ...rest } = first
  let body: JsonObject = { ...rest, stream: isStream, ...(isStream ? present({ stream_options: options }) : {}) }
  const thoughts = [...thoughtsIn(form, first, host)]
  for (const [turn, step] of [...steps, undefined].entries()) {
    const calls = (step?.calls ?? []).map((call, at) => ({ ...call, id: `call_turn${turn}_${at}` }))
    const text = step === undefined ? "It is written." : turn === 0 ? "I shall look." : undefined
    scene.say = { thought: thought(turn), ...(text === undefined ? {} : { text }), calls }
    const response = await ask(scene, task, modelOf(task, host), body)
    const heard = await heardOf(task, response, isStream)
    const names = turn === 0 ? dropped : later
    expect([turn, response.headers.get("x-gw-dropped") ?? ""]).toEqual([turn, names])
    expect(checkSent(scene, task, host, body)).toEqual(thoughts)
    if (host === task.form) checkAsItWas(task, scene.sentTo(host), body, names)
    const thinking = agentHosts[host].isToThink(scene.sentTo(host)) ? thought(turn) : ""
    expect(shownHeard(host, heard)).toEqual(shownHeard(host, { thought: thinking, text: text ?? "", calls, given: [] }))
    if (turn === 0 && !isStream) await checkExplained(scene, task, host, body, names)
    if (step === undefined) break
    const back = thinking === "" ? undefined : thoughtLine(task, host, thinking)
    if (back !== undefined) thoughts.push(back)
    body = agentForms[task.form].next(body, heard, resultsOf(heard, step))
  }
}

/** An explanation of the request says the same of what its host would not be sent. */
const checkExplained = async (scene: AgentScene, task: Task, host: HostName, body: JsonObject, dropped: string) => {
  const { dropped_parameters: names } = await explainedBy(
    scene.gateway,
    { ...body, model: modelOf(task, host) },
    `?form=${task.form}`,
    task.headers,
  )
  expect((names[slugOf(host)] ?? []).join(", ")).toBe(dropped)
}

export const resultsOf = ({ calls }: Heard, { found }: Step): ReadonlyArray<Result> =>
  calls.map((call) => ({
    call,
    text: `The result of ${call.name}.`,
    ...(call.kind === "search" && found !== undefined ? { tools: found } : {}),
  }))

export const heardOf = async ({ form, keeps }: Task, response: Response, isStream: boolean): Promise<Heard> => {
  const text = await response.text()
  expect([response.status, response.status === 200 ? "" : text]).toEqual([200, ""])
  expect(response.headers.get("content-type")).toBe(isStream ? "text/event-stream" : "application/json")
  const { heard, assembled } = agentForms[form]
  return heard(isStream ? assembled(text) : objectIn(JSON.parse(text)), keeps)
}

/** What hosts that know no search of tools are told of its result. */
const foundText = (tools: ReadonlyArray<Tool>): string =>
  ["These tools can be called now:", ...tools.map((tool) => `- ${toldName(tool)}: ${tool.description}`)].join("\n")

/** A host of the agent's own form gets the conversation and the tools as they came, but for tools that are dropped. */
const checkAsItWas = ({ form }: Task, sent: JsonObject, body: JsonObject, dropped: string): void => {
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

/** How a host is told of calls and results: as they are at a host of the Responses form, elsewhere as functions. */
const toldAt = (host: HostName): Told => {
  const idOf = (id: string) => (agentHosts[host].givesIds ? id : "")
  return {
    call: (call) =>
      host === "responses"
        ? line.call(call.id, fullName(call), call.input)
        : line.call(idOf(call.id), toldName(call), toldInput(call)),
    result: (id, text) => line.result(idOf(id), text),
    found: (id, tools) => line.result(idOf(id), host === "responses" ? "tools" : foundText(tools)),
    message: (from, to, content) => [
      ...(host === "responses" ? [] : [line.told("user", `Message from ${from} to ${to}:`)]),
      ...told("user", content),
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

/** Forms have one or two names for who instructs the model, and some read results that are JSON. */
const plain = (entry: string): string => entry.replace(/^(?:developer|instructions): /, "system: ")

/** The reasoning of a step as the host gets it back; `undefined`: it does not. */
const thoughtLine = ({ form, keeps }: Task, host: HostName, text: string): string | undefined => {
  const { seal } = agentHosts[host]
  if (keeps === "nothing") return undefined
  if (form === "responses") return line.thought(text, seal)
  if (keeps === "items") return line.thought(text, seal)
  // A text alone is taken by hosts that do not sign.
  return host === "chat" || host === "ollama" ? line.thought(text, "") : undefined
}

/** Of an answer what is compared. Ids are, where the host gives them. */
const shownHeard = (host: HostName, { thought, text, calls }: Heard) => ({
  thought,
  text,
  calls: calls.map(({ id, ...call }) => ({ ...call, id: agentHosts[host].givesIds ? id : "" })),
})

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
  expect(schemas(ofAgent)).toEqual(schemas(tools))
  const isThought = (entry: string) => entry.startsWith("thought: ")
  const said = agentForms[form].turns(body, toldAt(host))
  const shown = (entries: ReadonlyArray<string>) => (host === "ollama" ? joined(entries) : entries).map(plain)
  expect(shown(got.turns.filter((entry) => !isThought(entry)))).toEqual(shown(said))
  return got.turns.filter(isThought)
}
