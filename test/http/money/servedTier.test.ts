/** The service tier that a host says it served decides the price, not the one that was asked for. docs/guarantees.md#g5 */
import { expect, test } from "bun:test"
import { openAccount } from "../../support/gateways/account.ts"
import { closeAfterEach, opened, startWatched } from "../../support/gateways/watched.ts"
import { chunkOf, scriptedHost, sse } from "../../support/hosts/host.ts"

closeAfterEach()

const usage = { prompt_tokens: 1000, completion_tokens: 100 }

const tiers = {
  standard: { prompt: "0.000002", completion: "0.00001" },
  priority: { prompt: "0.000004", completion: "0.00002" },
  flex: { prompt: "0.000001", completion: "0.000005" },
}

/** A gateway with one host of each of these tiers, which says that it served `said`. */
const scene = async (offered: ReadonlyArray<keyof typeof tiers>, said: string | undefined) => {
  const tier = said === undefined ? {} : { service_tier: said }
  const host = opened(
    scriptedHost(({ stream }) =>
      stream === true
        ? sse([
            chunkOf({ delta: { content: "fine" }, finish_reason: null }, tier),
            chunkOf({ delta: {}, finish_reason: "stop" }, { usage, ...tier }),
            "[DONE]",
          ])
        : Response.json({
            choices: [{ index: 0, message: { role: "assistant", content: "fine" }, finish_reason: "stop" }],
            usage,
            ...tier,
          }),
    ),
  )
  const gateway = await startWatched({
    config: {
      providers: { acme: { plugin: "openai-compatible", base_url: host.url, network: "private", api_key: "k" } },
      models: [
        {
          id: "acme/small",
          context_length: 100_000,
          hosts: offered.map((name) => ({
            provider: "acme",
            model: "upstream",
            pricing: tiers[name],
            max_completion_tokens: 4096,
            ...(name === "standard" ? {} : { variant: name }),
          })),
        },
      ],
    },
  })
  return { gateway, account: await openAccount(gateway) }
}

const all = ["standard", "priority", "flex"] as const

test.each<[asked: string | undefined, served: string | undefined, cost: number]>([
  ["priority", "default", 0.003],
  ["priority", "standard", 0.003],
  ["priority", "priority", 0.006],
  ["priority", undefined, 0.006],
  [undefined, "priority", 0.006],
  [undefined, "flex", 0.0015],
  [undefined, "default", 0.003],
  [undefined, "auto", 0.003],
  [undefined, undefined, 0.003],
  ["flex", "default", 0.003],
])("W4: asked for %p, served %p: %p", async (asked, served, cost) => {
  const { gateway, account } = await scene(all, served)
  for (const stream of [false, true]) {
    const messages = [{ role: "user", content: "hi" }]
    const response = await account.chat({ messages, stream, ...(asked === undefined ? {} : { service_tier: asked }) })
    expect(await response.text()).toContain(`"cost":${cost}`)
    const [row] = await account.rows()
    expect(Number(row?.cost) / 1e12).toBe(cost)
    expect(row?.rareUsage).toBeNull()
    expect(row?.priceVersion).not.toBeNull()
  }
  expect(gateway.log()).not.toContain("priced_otherwise")
})

test("W4: a tier without a price is charged as it was asked for, marked in the ledger, and logged once a minute", async () => {
  const { gateway, account } = await scene(["standard"], "priority")
  for (let call = 0; call < 2; call++) {
    const response = await account.chat({ messages: [{ role: "user", content: "hi" }] })
    expect(await response.json()).toMatchObject({ service_tier: "priority", usage: { cost: 0.003 } })
    expect((await account.rows())[0]?.rareUsage).toEqual({ pricedOtherwise: 1 })
  }
  expect(gateway.log().match(/priced_otherwise/g)).toHaveLength(1)
})
