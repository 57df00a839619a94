/** An agent whose conversation has grown long: its host makes one item of it, with which the agent goes on. */
import { expect } from "bun:test"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { objectIn, objectsIn } from "../forms/script.ts"
import { agentForms } from "./forms.ts"
import { hostNames } from "./hosts.ts"
import { ask, play } from "./play.ts"
import { type AgentScene, modelAt, modelElsewhere, slugOf } from "./scene.ts"
import type { Task } from "./Task.ts"

const made: JsonObject = { id: "cmp_1", type: "compaction", encrypted_content: "Y29tcGFjdGVk+/=" }

/** At a host of the form: the item comes back, and stands at the beginning of a task that is played to its end. */
export const playCompaction = async (scene: AgentScene, task: Task, isStream: boolean): Promise<void> => {
  scene.say = { calls: [], items: [made] }
  const body: JsonObject = { ...task.body, stream: isStream }
  const response = await ask(scene, task, modelAt("responses"), body)
  const text = await response.text()
  expect([response.status, response.headers.get("x-gw-dropped")]).toEqual([200, null])
  const answer = isStream ? agentForms.responses.assembled(text) : objectIn(JSON.parse(text))
  expect(answer["output"]).toEqual([made])
  expect(scene.sentTo("responses")["input"]).toEqual(task.body["input"])
  const kept = objectsIn(task.body["input"]).filter(({ role }) => role === "user" || role === "developer")
  const input = [...kept, ...objectsIn(answer["output"]), { role: "user", content: "Go on." }]
  await play(scene, { ...task, body: { ...task.body, input } }, "responses", isStream, "")
}

/** At hosts of other forms: each is named with its reason. */
export const refusedElsewhere = async (scene: AgentScene, task: Task, isStream: boolean): Promise<void> => {
  const at = objectsIn(task.body["input"]).findIndex(({ type }) => type === "compaction_trigger")
  const why = `carry input[${at}]: only hosts of the Responses format compact a conversation`
  const others = hostNames.filter((host) => host !== "responses")
  for (const [model, hosts] of [
    ...others.map((host) => [modelAt(host), [host]] as const),
    [modelElsewhere, others] as const,
  ]) {
    const response = await ask(scene, task, model, { ...task.body, stream: isStream })
    expect([response.status, response.headers.get("content-type")]).toEqual([404, "application/json"])
    const { message, metadata } = objectIn(objectIn(await response.json())["error"])
    expect(message).toBe(`No endpoints found for ${model} that can ${why}, and none of these is left.`)
    const excluded = hosts.map((host) => ({
      host: slugOf(host),
      model,
      by: "form",
      reason: `cannot ${why}`,
    }))
    expect(metadata).toMatchObject({ excluded_by: ["form"], excluded })
  }
}
