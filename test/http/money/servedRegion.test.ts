/** The speed and the region that a Messages host says it served decide the price. docs/guarantees.md#g5 */
import { expect, test } from "bun:test"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { openAccount } from "../../support/gateways/account.ts"
import { closeAfterEach, opened, startWatched } from "../../support/gateways/watched.ts"
import { scriptedHost } from "../../support/hosts/host.ts"
import { endEvents, nativeAnswer, nativeStream, textBlock } from "../../support/hosts/messages.ts"

closeAfterEach()

/**
 * 1,000 tokens of the prompt, of which 100 are written to the cache for an hour and 200 are read from it; 100 of
 * output.
 */
const counts = {
  input_tokens: 700,
  cache_creation_input_tokens: 100,
  cache_read_input_tokens: 200,
  cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 100 },
  output_tokens: 100,
}

const usual = { prompt: "0.000005", completion: "0.000025" }
const fast = { prompt: "0.00003", completion: "0.00015" }
/** 700 × 5 + 100 × 10 + 200 × 0.5 + 100 × 25, in millionths. */
const once = 0.0071

/** A gateway whose host, of Anthropic's plugin or another, says this of its answers. */
const scene = async (
  said: JsonObject,
  {
    variants = {},
    plugin = "anthropic",
  }: { readonly variants?: Record<string, typeof usual>; readonly plugin?: string } = {},
) => {
  const usage = { ...counts, ...said }
  const message = { type: "message", role: "assistant", content: [], usage: { ...usage, output_tokens: 1 } }
  const host = opened(
    scriptedHost(({ stream }) =>
      stream === true
        ? nativeStream([{ type: "message_start", message }, ...textBlock(0, ["fine"]), ...endEvents("end_turn", 100)])
        : nativeAnswer([{ type: "text", text: "fine" }], { usage }),
    ),
  )
  const reach = { base_url: host.url, network: "private" as const, api_key: "k" }
  const gateway = await startWatched({
    config: {
      providers: { acme: { plugin, ...reach } },
      models: [
        {
          id: "acme/small",
          context_length: 100_000,
          hosts: [
            {
              ...{ provider: "acme", model: "upstream", max_completion_tokens: 4096 },
              ...(plugin === "anthropic" ? {} : { api: "messages" }),
              pricing: { ...usual, input_cache_read: "0.0000005", input_cache_write_1h: "0.00001" },
            },
            ...Object.entries(variants).map(([variant, pricing]) => ({
              ...{ provider: "acme", model: "upstream", max_completion_tokens: 4096, variant, pricing },
              ...(plugin === "anthropic" ? {} : { api: "messages" }),
            })),
          ],
        },
      ],
    },
  })
  return { gateway, account: await openAccount(gateway) }
}

const bodies: ReadonlyArray<readonly [path: string, body: JsonObject]> = [
  ["/chat/completions", { messages: [{ role: "user", content: "hi" }] }],
  ["/messages", { messages: [{ role: "user", content: "hi" }], max_tokens: 200 }],
  ["/responses", { input: "hi" }],
]

/** Asks by every form, whole and streamed, and gives the costs that were told and those of the rows. */
const charged = async ({ gateway, account }: Awaited<ReturnType<typeof scene>>) => {
  const told: Array<unknown> = []
  const rows: Array<unknown> = []
  const marks: Array<unknown> = []
  for (const [path, body] of bodies) {
    for (const stream of [false, true]) {
      const response = await gateway.call(path, {
        method: "POST",
        headers: { authorization: `Bearer ${account.secret}`, "content-type": "application/json" },
        body: JSON.stringify({ model: "acme/small", ...body, stream, provider: { only: ["acme"] } }),
      })
      const costs = [...(await response.text()).matchAll(/"cost":([\d.e-]+)/g)].map(([, cost]) => Number(cost))
      told.push(costs.at(-1))
      const [row] = await account.rows()
      rows.push(Number(row?.cost) / 1e12)
      marks.push(row?.rareUsage?.pricedOtherwise)
    }
  }
  expect(rows).toEqual(told)
  expect(new Set(told).size).toBe(1)
  return { cost: told[0], mark: marks.every((mark) => mark === marks[0]) ? marks[0] : marks }
}

test.each<[said: JsonObject, cost: number]>([
  [{ inference_geo: "us" }, 0.00781],
  [{ inference_geo: "us", speed: "standard" }, 0.00781],
  [{ inference_geo: "global", speed: "standard" }, once],
  [{ inference_geo: "not_available" }, once],
  [{ inference_geo: null, speed: null }, once],
  [{ inference_geo: "" }, once],
  [{ inference_geo: 5, speed: ["fast"] }, once],
])("W4: Anthropic says %j: %p", async (said, cost) => {
  const opened = await scene(said)
  expect(await charged(opened)).toEqual({ cost, mark: undefined })
  expect(opened.gateway.log()).not.toContain("priced_otherwise")
})

test("W4: a host of the speed that was served has its price, times that of the region", async () => {
  const variants = { fast: { ...fast, input_cache_read: "0.000003", input_cache_write_1h: "0.00006" } }
  // 700 × 30 + 100 × 60 + 200 × 3 + 100 × 150, in millionths.
  expect(await charged(await scene({ speed: "fast" }, { variants }))).toEqual({ cost: 0.0426, mark: undefined })
  const both = await scene({ speed: "fast", inference_geo: "us" }, { variants })
  expect(await charged(both)).toEqual({ cost: 0.04686, mark: undefined })
  expect(both.gateway.log()).not.toContain("priced_otherwise")
})

test.each([
  [{ speed: "fast" }, "anthropic", once, "speed fast"],
  [{ speed: "fast", inference_geo: "us" }, "anthropic", 0.00781, "speed fast"],
  [{ inference_geo: "eu" }, "anthropic", once, "region eu"],
  [{ inference_geo: "us" }, "azure", once, "region us"],
] as const)(
  "W4: %j at %s has no price: charged %p, marked, and logged once a minute",
  async (said, plugin, cost, served) => {
    const opened = await scene(said, { plugin })
    expect(await charged(opened)).toEqual({ cost, mark: 1 })
    expect(opened.gateway.log().match(/priced_otherwise/g)).toHaveLength(1)
    expect(opened.gateway.log()).toContain(served)
  },
)
