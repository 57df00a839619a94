/**
 * What agents send, each construct at a host of each protocol: whole, streamed, and in the turns that follow, in which the host calls
 * the agent's tools and gets their results. `recorded.test.ts` does the same with requests as programs sent them.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { agentCases } from "../../support/agents/cases.ts"
import { playCompaction, refusedElsewhere } from "../../support/agents/compaction.ts"
import { agentForms } from "../../support/agents/forms.ts"
import { agentHosts, hostNames } from "../../support/agents/hosts.ts"
import { ask, play } from "../../support/agents/play.ts"
import { roam } from "../../support/agents/roam.ts"
import { type AgentScene, agentScene, modelAt } from "../../support/agents/scene.ts"
import { shownTool, toolsAt } from "../../support/agents/sent.ts"
import { compacting, longTasks, showing } from "../../support/agents/tasks.ts"

let scene: AgentScene
beforeAll(async () => {
  scene = await agentScene()
})
afterAll(() => scene.stop())

for (const one of agentCases) {
  describe(one.what, () => {
    test("is offered as its row says", () => {
      const tools = agentForms[one.form].tools(one.body)
      for (const host of hostNames) {
        const offered = one.offers[host === "responses" ? host : "elsewhere"]
        expect(toolsAt(host, tools).map(shownTool).join(", ")).toBe(offered)
      }
    })

    for (const host of hostNames)
      for (const isStream of [false, true])
        test(`${host}, ${isStream ? "streamed" : "whole"}`, () =>
          play(scene, one, host, isStream, one.dropped[host], one.later?.[host]))
  })
}

describe("a conversation that is to be compacted", () => {
  for (const isStream of [false, true]) {
    const how = isStream ? "streamed" : "whole"
    test(`a host of the form, ${how}`, () => playCompaction(scene, compacting, isStream))
    test(`hosts of other forms, ${how}`, () => refusedElsewhere(scene, compacting, isStream))
  }
})

describe("a task whose every turn another host takes", () => {
  for (const [name, task] of Object.entries(longTasks)) {
    for (const [first, host] of hostNames.entries()) {
      const isStream = first % 2 === 0
      test(`${name}, from ${host} on, ${isStream ? "streamed" : "whole"}`, () => roam(scene, task, first, isStream))
    }
  }
})

describe("an image that a tool has shown", () => {
  for (const host of hostNames)
    test(host, async () => {
      scene.say = { text: "Seen.", calls: [] }
      for (const task of showing) {
        const response = await ask(scene, task, modelAt(host), { ...task.body, stream: false })
        const text = await response.text()
        if (host === "cohere") {
          expect([response.status, text]).toEqual([400, expect.stringContaining("this host takes text as results")])
          continue
        }
        expect([response.status, response.headers.get("x-gw-dropped")]).toEqual([200, null])
        const sent = scene.sentTo(host)
        expect(JSON.stringify(sent)).toContain("iVBORw0KGgoAAAANSUhEUg==")
        expect(agentHosts[host].refusals(sent)).toEqual([])
      }
    })
})
