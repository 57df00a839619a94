/** Members that multiply a bill, at hosts that get unknown members unread. docs/guarantees.md#g36 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { type Hosts, startHosts } from "./hosts.ts"

let plain: Hosts
let allowing: Hosts
beforeAll(async () => {
  plain = await startHosts()
  allowing = await startHosts({ provider: { extra_members: ["candidate_count", "options"] } })
})
afterAll(() => Promise.all([plain, allowing].map((hosts) => hosts.stop())))

const chat = "/chat/completions"

/** What arrived at a host before. */
const seen: ReadonlyArray<readonly [string, unknown, path?: string]> = [
  ["candidate_count", 5],
  ["n_images", 4],
  ["size", "2048x2048"],
  ["quality", "high"],
  ["image_config", { image_size: "4K" }],
  ["generationConfig", { candidateCount: 8 }, "generationConfig.candidateCount"],
  ["options", { num_predict: 99_999 }, "options.num_predict"],
  ["echo", true],
  ["thinking", { type: "enabled", budget_tokens: 50_000 }, "thinking.budget_tokens"],
  ["prewarm", true],
  ["compaction", { type: "auto" }],
  ["max_tool_calls", 500],
]

/** Others of the same kinds, in other spellings, and further inside. */
const siblings: typeof seen = [
  ...["candidateCount", "num_generations", "numResults", "num_return_sequences", "samples", "n_samples", "bestOf"].map(
    (name) => [name, 7] as const,
  ),
  ...["maxTokens", "max_new_tokens", "maxOutputTokens", "n_predict", "max_length", "thinking_budget"].map(
    (name) => [name, 90_000] as const,
  ),
  ...["image_size", "imageSize", "resolution"].map((name) => [name, "4K"] as const),
  ...["duration", "seconds", "fps", "max_uses", "maxTurns"].map((name) => [name, 60] as const),
  ["num_outputs", "4"],
  ["config", { best_of: 4, more: [{ N: 3 }] }, "config.best_of"],
  ["params", { deep: { er: { image_count: 3 } } }, "params.deep.er.image_count"],
]

/** Members that such hosts have, and that do not multiply. */
const passing: JsonObject = {
  top_k: 5,
  min_p: 0.1,
  repetition_penalty: 1.1,
  enable_thinking: true,
  thinking_mode: { type: "enabled" },
  chat_template_kwargs: { enable_thinking: true },
  guided_json: {
    type: "object",
    properties: { size: { type: "string" }, n: { type: "number" }, image_config: { type: "null" } },
    required: ["size"],
  },
  image: "no amount",
  results: ["a"],
  num_ctx: 8192,
}

describe.each(["compatible", "ollama"] as const)("at a host of the protocol %s", (protocol) => {
  test.each([...seen, ...siblings])(
    "%s multiplied the bill: it is not sent, and named",
    async (name, value, path = name) => {
      const { status, sent, dropped } = await plain.ask(chat, protocol, { [name]: value })
      expect(status).toBe(200)
      expect(dropped.some((one) => one === path || one === name)).toBe(true)
      const [member = "", ...inner] = path.split(".")
      const part = inner.reduce<unknown>(
        (owner, each) => (typeof owner === "object" && owner !== null ? Reflect.get(owner, each) : undefined),
        sent?.[member],
      )
      // The protocol of Ollama writes its own bound there.
      expect(
        part === undefined || part !== inner.reduce<unknown>((owner, each) => Reflect.get(Object(owner), each), value),
      ).toBe(true)
    },
  )
})

test("what does not multiply passes, as do n and best_of, for which money is reserved", async () => {
  const members = { ...passing, n: 2, best_of: 3 }
  const { sent, dropped } = await plain.ask(chat, "compatible", members)
  expect(dropped).toEqual([])
  expect(sent).toMatchObject(members)
})

test("what surrounds it passes", async () => {
  const thinking = { type: "enabled", budget_tokens: 50_000 }
  const { sent, dropped } = await plain.ask(chat, "compatible", { thinking, extra: [{ a: 1, samples: 5 }] })
  expect([sent?.["thinking"], sent?.["extra"]]).toEqual([{ type: "enabled" }, [{ a: 1 }]])
  expect(dropped).toEqual(["thinking.budget_tokens", "extra[0].samples"])
})

test("extra_members of the provider lets it pass", async () => {
  const members = { candidate_count: 5, options: { num_predict: 9 } }
  const { sent, dropped } = await allowing.ask(chat, "compatible", members)
  expect(dropped).toEqual([])
  expect(sent).toMatchObject(members)
})
