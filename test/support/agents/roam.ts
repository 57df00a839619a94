/** An agent whose every request another host answers, as where hosts fail and others take over. */
import { expect } from "bun:test"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { line } from "./AgentHost.ts"
import { agentForms } from "./forms.ts"
import { agentHosts, type HostName, hostNames } from "./hosts.ts"
import { ask, heardOf, resultsOf, thought } from "./play.ts"
import { type AgentScene, modelAt } from "./scene.ts"
import { checkSent } from "./sent.ts"
import type { Task } from "./Task.ts"

/** Hosts that can read each other's reasoning; others read none but their own. */
const ofClaude: ReadonlyArray<HostName> = ["messages", "converse", "chat"]

/**
 * `first`: the place of the first host among all. Reasoning reaches those hosts that can read it and have it unchanged, and no other
 * where it would be refused.
 */
export const roam = async (scene: AgentScene, task: Task, first: number, isStream: boolean): Promise<void> => {
  let body: JsonObject = { ...task.body, stream: isStream }
  const saidBy = new Map<string, HostName>()
  for (const [turn, step] of [...task.steps, undefined].entries()) {
    const host = hostNames[(first + turn) % hostNames.length] ?? "chat"
    const calls = (step?.calls ?? []).map((call, at) => ({ ...call, id: `call_turn${turn}_${at}` }))
    scene.say = { thought: thought(turn), calls, ...(step === undefined ? { text: "It is written." } : {}) }
    const heard = await heardOf(task, await ask(scene, task, modelAt(host), body), isStream)
    const thoughts = checkSent(scene, task, host, body)
    const isSealed = host !== "chat" && host !== "ollama"
    const readable = [...saidBy].filter(([, by]) => by === host || (ofClaude.includes(host) && ofClaude.includes(by)))
    const { signature } = agentHosts[host]
    const own = readable.map(([text, by]) => line.thought(text, agentHosts[by].seal))
    if (signature !== undefined) own.push(line.thought("", signature))
    if (isSealed) expect(thoughts.filter((entry) => !own.includes(entry))).toEqual([])
    expect(heard.calls.map(({ id: _, ...call }) => call)).toEqual(calls.map(({ id: _, ...call }) => call))
    if (heard.thought !== "") saidBy.set(heard.thought, host)
    if (step === undefined) break
    body = agentForms[task.form].next(body, heard, resultsOf(heard, step))
  }
}
