/**
 * What agents send, each construct at a host of each protocol: whole, streamed, and in the turns that follow, in which the host calls
 * the agent's tools and gets their results. `recorded.test.ts` does the same with requests as programs sent them.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { agentCases, compacting } from "../../support/agents/cases.ts"
import { playCompaction, refusedElsewhere } from "../../support/agents/compaction.ts"
import { agentForms } from "../../support/agents/forms.ts"
import { hostNames } from "../../support/agents/hosts.ts"
import { play, shownTool, toolsAt } from "../../support/agents/play.ts"
import { type AgentScene, agentScene } from "../../support/agents/scene.ts"

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
