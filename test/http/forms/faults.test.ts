/** Every client form at every host form: a stream keeps its grammar whatever its host does, and is charged what it says. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import type { ClientForm } from "../../support/forms/ClientForm.ts"
import { clientForms } from "../../support/forms/clients.ts"
import { type HostForm, hostForms, inTwoParts, streamOf } from "../../support/forms/hosts.ts"
import { type FormsScene, formsScene } from "../../support/forms/scene.ts"
import { type Answer, objectIn, user } from "../../support/forms/script.ts"

let scene: FormsScene
beforeAll(async () => {
  scene = await formsScene()
})
afterAll(() => scene.stop())

const question = { turns: [user("What is there?")] }

const saidTo = (client: ClientForm): Answer => ({
  thoughts: [
    { type: "reasoning.text", text: "We look.", signature: "c2ln", format: "anthropic-claude-v1" },
    { type: "reasoning.encrypted", data: "ZW5j", format: "anthropic-claude-v1" },
  ],
  text: "Let me see what there is.",
  ...(client.isChat
    ? {
        calls: [
          { id: "call_1", name: "look", input: { at: "the moon" } },
          { id: "call_2", name: "now", input: {} },
        ],
        finish: "tool_calls",
      }
    : { finish: "stop" }),
})

const faults: ReadonlyArray<readonly [name: string, type: string, last: (host: HostForm) => ReadonlyArray<string>]> = [
  ["the end of the connection", "provider_unavailable", () => []],
  ["an error", "provider_unavailable", (host) => [host.failure(500)]],
  ["an error of a rate limit", "rate_limit_exceeded", (host) => [host.failure(429)]],
]

const rows = clientForms.flatMap((client) =>
  hostForms.flatMap((host) =>
    faults.map(([name, type, last]) => [client.name, host.name, name, client, host, type, last] as const),
  ),
)

describe("a stream after each of its events", () => {
  test.each(rows)("of %s at %s: %s", async (_, __, ___, client, host, type, last) => {
    const events = host.events([saidTo(client)])
    scene.answers = () => streamOf(events)
    const complete = await scene.post(client, host, question, { stream: true })
    const [whole] = client.heard(client.assembled(await complete.text()))
    for (let count = 0; count <= events.length; count++) {
      const { answer, goOn } = inTwoParts(events.slice(0, count), last(host))
      scene.answers = answer
      const isSeen = count > host.silent
      if (!isSeen) goOn()
      const response = await scene.post(client, host, question, { stream: true })
      goOn()
      if (!isSeen) {
        expect(client.failed(objectIn(await response.json()), response).type).toBe(type)
        expect(response.status).toBe(type === "rate_limit_exceeded" ? 429 : 502)
        continue
      }
      expect(response.status).toBe(200)
      const body = client.assembled(await response.text())
      const broken = client.broken(body)
      const isOver = events.length - count <= endingEvents(host)
      expect([count, broken?.type]).toEqual([count, isOver ? undefined : type])
      const [heard] = client.heard(body)
      expect(whole?.text).toStartWith(heard?.text ?? "")
      expect([count, heard?.cost]).toEqual([count, Number((await scene.row(response))["total_cost"])])
    }
  })
})

/**
 * Events that may be missing at the end of a complete answer: what comes after its finish. Without its usage, its tokens are
 * estimated.
 */
const endingEvents = ({ name }: HostForm): number => (name === "chat" ? 2 : 1)
