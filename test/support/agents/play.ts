/** Plays a task of an agent at a host: the request, then one for each step of the task, with what the host said before. */
import { expect } from "bun:test"
import { isJsonObject, type JsonObject } from "../../../src/domain/json/json.ts"
import { explainedBy } from "../clients/explained.ts"
import { objectIn, present } from "../forms/script.ts"
import { line } from "./AgentHost.ts"
import { agentForms, type Heard, type Result } from "./forms.ts"
import { agentHosts, type HostName } from "./hosts.ts"
import { type AgentScene, modelAt, searchingModelAt, slugOf } from "./scene.ts"
import { checkAsItWas, checkSent, thoughtsIn } from "./sent.ts"
import type { Step, Task } from "./Task.ts"

export const thought = (turn: number): string => `Thought ${turn}: the file first.`

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

/** Answers of the Messages format have thinking only where the request asks for it. */
const isAskedToThink = ({ thinking }: JsonObject): boolean => isJsonObject(thinking) && thinking["type"] !== "disabled"

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
    const isShown = form !== "messages" || isAskedToThink(first)
    const thinking = isShown && agentHosts[host].isToThink(scene.sentTo(host)) ? thought(turn) : ""
    expect(shownHeard(host, heard)).toEqual(shownHeard(host, { thought: thinking, text: text ?? "", calls, given: [] }))
    if (turn === 0 && !isStream) await checkExplained(scene, task, host, body, names)
    if (step === undefined) break
    if (isShown) thoughts.push(...thoughtLines(task, host, thinking))
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

/** The reasoning of a step as the host gets it back. `text`: empty where it told none. */
const thoughtLines = ({ form, keeps }: Task, host: HostName, text: string): ReadonlyArray<string> => {
  const { seal, signature } = agentHosts[host]
  const isWhole = keeps !== "nothing" && (form === "responses" || keeps === "items")
  // A text alone is taken by hosts that do not sign.
  const isTaken = isWhole || (keeps !== "nothing" && (host === "chat" || host === "ollama"))
  return [
    ...(text === "" || !isTaken ? [] : [line.thought(text, isWhole ? seal : "")]),
    ...(signature === undefined || !isWhole ? [] : [line.thought("", signature)]),
  ]
}

/** Of an answer what is compared. Ids are, where the host gives them. */
const shownHeard = (host: HostName, { thought, text, calls }: Heard) => ({
  thought,
  text,
  calls: calls.map(({ id, ...call }) => ({ ...call, id: agentHosts[host].givesIds ? id : "" })),
})
