/**
 * What a plan costs in processor time: `bun bench/planning.ts [--json FILE]`. No host is called. Each figure is the
 * fastest of several rounds in a warm process, since other programs only add to it; microseconds of the whole process.
 */
import { parseArgs } from "node:util"
import * as Either from "effect/Either"
import { decodeChat } from "../src/formats/chat/chatRequest.ts"
import { plannerFor, unlimited } from "../test/support/gateways/planner.ts"

const { values } = parseArgs({ options: { json: { type: "string" } } })

/** Upper limit in microseconds for 50 hosts and all filters. */
const bound = 30
const rounds = 40
const plansPerRound = 1000

const hostsOf = (count: number) =>
  Array.from({ length: count }, (_, at) => ({
    provider: `p${at}`,
    pricing: { prompt: `0.00000${1 + (at % 9)}`, completion: "0.000002" },
    quantization: "fp8",
    supported_parameters: ["temperature", "tools", "max_tokens", "response_format", "tool_choice"],
  }))

const model = (id: string, hosts: number) => ({
  id,
  distillable: true,
  context_length: 100_000,
  architecture: { input_modalities: ["text", "image"], output_modalities: ["text"] },
  hosts: hostsOf(hosts),
})

/** Every filter has something to check, and no host is excluded by any. */
const allFilters = {
  temperature: 1,
  max_tokens: 100,
  tools: [{ type: "function", function: { name: "f" } }],
  tool_choice: "auto",
  response_format: { type: "json_object" },
  messages: [
    {
      role: "user",
      content: [
        { type: "text", text: "what?" },
        { type: "image_url", image_url: { url: "https://a.test/cat.png" } },
      ],
    },
  ],
  provider: {
    only: Array.from({ length: 50 }, (_, at) => `p${at}`),
    ignore: ["nobody", "somebody"],
    data_collection: "deny",
    zdr: true,
    enforce_distillable_text: true,
    quantizations: ["fp8", "fp4"],
    max_price: { prompt: 100, completion: 100, request: 1, image: 1, audio: 100 },
    require_parameters: true,
    preferred_max_latency: { p50: 5, p90: 10 },
    preferred_min_throughput: 1,
    sort: "price",
  },
}

const privacy = Object.fromEntries(
  Array.from({ length: 50 }, (_, at) => [`p${at}`, { may_train: false, retains_prompts: false }]),
)

/** Microseconds per plan. */
const measure = async (models: ReadonlyArray<ReturnType<typeof model>>, body: Record<string, unknown>) => {
  const { router } = await plannerFor(models, { strategy: "balanced", privacy })
  const text = JSON.stringify({ model: models[0]?.id, messages: [{ role: "user", content: "hi" }], ...body })
  const request = Either.getOrThrow(decodeChat(JSON.parse(text)))
  const figures: Array<number> = []
  for (let round = 0; round < rounds + 20; round++) {
    const before = process.cpuUsage()
    for (let at = 0; at < plansPerRound; at++) {
      if (Either.isLeft(router.plan(request, unlimited))) throw new Error("no plan")
    }
    const { user, system } = process.cpuUsage(before)
    // The first rounds are compiled.
    if (round >= 20) figures.push((user + system) / plansPerRound)
  }
  return Math.min(...figures)
}

const crowd = (hosts: number) => Array.from({ length: 1000 }, (_, at) => model(`acme/other-${at}`, hosts))

// The runtime compiles what all rows share.
for (const body of [{}, allFilters, {}, allFilters]) await measure([model("acme/small", 50)], body)

const rows = [
  { name: "2 hosts, no preference", us: await measure([model("acme/small", 2)], {}) },
  { name: "50 hosts, no preference", us: await measure([model("acme/small", 50)], {}) },
  { name: "50 hosts, all filters", us: await measure([model("acme/small", 50)], allFilters), bound },
  {
    name: "50 hosts, all filters, 1,000 models × 20 hosts loaded",
    us: await measure([model("acme/small", 50), ...crowd(20)], allFilters),
    bound,
  },
  {
    name: "2 hosts, no preference, 1,000 models × 20 hosts loaded",
    us: await measure([model("acme/small", 2), ...crowd(20)], {}),
  },
]

console.log("| plan | µs | bound |\n| --- | --- | --- |")
for (const { name, us, bound } of rows) {
  console.log(
    `| ${name} | ${us.toFixed(2)} | ${bound === undefined ? "" : `${bound}${us <= bound ? "" : ", missed"}`} |`,
  )
}
if (values.json !== undefined) await Bun.write(values.json, JSON.stringify(rows, null, 2))
process.exit(0)
