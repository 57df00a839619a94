/** `headgate models` and `headgate route`, against a gateway that runs. docs/commands.md */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { until } from "../support/clocks/until.ts"
import type { Ended } from "../support/gateways/commands.ts"
import { firstManagementKey, type Installation, install, type RunningGateway } from "../support/gateways/process.ts"

const patience = 1_800_000

const host = (provider: string, prompt: string, more: object = {}) => ({
  provider,
  pricing: { prompt, completion: prompt },
  ...more,
})
const private_ = { privacy: { may_train: false, retains_prompts: false } }
const server = (more: object = {}) => ({ plugin: "openai-compatible", base_url: "https://acme.example/v1", ...more })

const config = {
  discovery: { environment: false, local: false },
  providers: {
    economy: server(),
    vault: server(private_),
    resting: server({ enabled: false }),
  },
  models: [
    {
      id: "acme/sage",
      context_length: 32768,
      hosts: [
        host("economy", "0.000001", { quantization: "fp8" }),
        host("vault", "0.00000325"),
        host("resting", "0.00001"),
      ],
    },
    { id: "acme/sage-mini", context_length: 8192, hosts: [{ provider: "vault" }] },
  ],
}

let installation: Installation
let gateway: RunningGateway
let environment: Readonly<Record<string, string>> = {}

beforeAll(async () => {
  installation = install()
  gateway = installation.start({ config })
  const url = new URL(await gateway.url())
  await until(() => firstManagementKey(gateway.out()) !== "", "the keys")
  environment = { HEADGATE_MANAGEMENT_KEY: firstManagementKey(gateway.out()), HEADGATE_PORT: url.port }
}, patience)
afterAll(() => installation.remove())

const headgate = (...words: ReadonlyArray<string>): Promise<Ended> => installation.command(words, environment)

const linesOf = ({ out }: Ended) =>
  out
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => line.split("\t"))

test(
  "models: id, context, prices per million tokens, hosts and their providers; by a part of the id, a pattern or an id",
  async () => {
    const sage = ["acme/sage", "32768", "1", "1", "3", "economy, vault, resting"]
    const mini = ["acme/sage-mini", "8192", "?", "?", "1", "vault"]
    const all = linesOf(await headgate("models"))
    expect(all).toEqual(expect.arrayContaining([sage, mini]))
    // Those for embeddings, too.
    expect(all.map(([id]) => id)).toContain("headgate/echo-embeddings")
    expect(linesOf(await headgate("models", "SAGE"))).toEqual([sage, mini])
    expect(linesOf(await headgate("models", "*/sage"))).toEqual([sage])
    expect(linesOf(await headgate("models", "acme/sage"))).toEqual([sage])
    const { out } = await headgate("models", "acme/sage", "--json")
    expect(JSON.parse(out)).toMatchObject([{ id: "acme/sage", architecture: {}, supported_parameters: [] }])
  },
  patience,
)

test(
  "models --hosts: each host with its price, length, quantization, what was seen of it, and whether it is called",
  async () => {
    expect(linesOf(await headgate("models", "acme/sage", "--hosts"))).toEqual([
      ["acme/sage", "economy", "32768", "1", "1", "fp8", "-", "-", "-", "normal"],
      ["acme/sage", "vault", "32768", "3.25", "3.25", "unknown", "-", "-", "-", "normal"],
      ["acme/sage", "resting", "32768", "10", "10", "unknown", "-", "-", "-", "off"],
    ])
    const { out } = await headgate("models", "acme/sage", "--hosts", "--json")
    expect(JSON.parse(out)).toMatchObject([{ id: "acme/sage", endpoints: [{ tag: "economy" }, {}, {}] }])
  },
  patience,
)

test(
  "models: a pattern that no model has gets near ids",
  async () => {
    expect(await headgate("models", "acme/sgae-mini")).toEqual({
      code: 1,
      out: "",
      err: 'headgate: no model matches "acme/sgae-mini"; near: acme/sage-mini, acme/sage\n',
    })
  },
  patience,
)

test(
  "route: the hosts in the order in which they would be tried, with reasons, and each other one with what excludes it",
  async () => {
    const off = ["-", "acme/sage", "resting", "-", "provider: its provider is disabled"]
    expect(linesOf(await headgate("route", "acme/sage", "--sort", "price"))).toEqual([
      ["1", "acme/sage", "economy", "0.000514", "price_usd_per_million 2"],
      ["2", "acme/sage", "vault", "0.0016705", "price_usd_per_million 6.5"],
      off,
    ])
    const [kept, ...excluded] = linesOf(await headgate("route", "acme/sage", "--zdr"))
    expect(kept?.slice(0, 3)).toEqual(["1", "acme/sage", "vault"])
    expect(excluded).toEqual([["-", "acme/sage", "economy", "-", "zdr: may retain prompts"], off])
    const drawn = linesOf(await headgate("route", "acme/sage", "--sort", "price", "--draws", "20"))
    expect(drawn.slice(3)).toEqual([
      ["acme/sage", "economy", "20", "100.0 %"],
      ["acme/sage", "vault", "0", "0.0 %"],
    ])
    const shown = await installation.inTerminal(["route", "acme/sage", "--seed", "7"], environment)
    expect(Bun.stripANSI(shown)).toStartWith("strategy balanced, seed 7\nTRY  MODEL      HOST")
    const { out } = await headgate("route", "acme/sage", "--seed", "7", "--json")
    expect(JSON.parse(out)).toMatchObject({ strategy: "balanced", seed: 7, attempts: [{ rank: 1 }, { rank: 2 }] })
  },
  patience,
)

test(
  "route --body: a whole request, in which flags replace what they name; --key: with the key's budget",
  async () => {
    const file = join(installation.folder, "request.json")
    const messages = [{ role: "user", content: "Hello" }]
    writeFileSync(file, JSON.stringify({ model: "acme/sage", messages, provider: { ignore: ["vault"], zdr: true } }))
    const all = await headgate("route", "--body", file)
    expect(all).toMatchObject({ code: 1, err: expect.stringContaining("such a request would be answered 404: ") })
    expect(linesOf(all).map(([rank]) => rank)).toEqual(["-", "-", "-"])
    const [first] = linesOf(await headgate("route", "--body", file, "--ignore", "nobody"))
    expect(first?.slice(0, 3)).toEqual(["1", "acme/sage", "vault"])

    writeFileSync(file, JSON.stringify({ model: "acme/sage", input: "Hello" }))
    expect((await headgate("route", "--body", file)).code).toBe(1)
    expect((await headgate("route", "--body", file, "--form", "responses")).code).toBe(0)

    const made = await headgate("keys", "create", "poor", "--limit", "0.00000001", "--json")
    const { data } = JSON.parse(made.out)
    const poor = await headgate("route", "acme/sage", "--key", data.hash.slice(0, 8))
    const byName = await headgate("route", "acme/sage", "--key", data.name)
    const refused = { code: 1, err: expect.stringContaining("such a request would be answered 402: ") }
    expect([poor, byName]).toEqual([expect.objectContaining(refused), expect.objectContaining(refused)])
  },
  patience,
)

test.each([
  [["route", "acme/sage", "--form", "responses"], 64, "--form: expected a request with --body"],
  [["route"], 64, "expected a model, or a request with --body"],
  [["route", "acme/sgae"], 1, '"acme/sgae" is not a valid model ID (near: acme/sage'],
  [
    ["route", "acme/sage", "--max-price-prompt", "cheap"],
    64,
    '--max-price-prompt: expected USD per million tokens such as 2.50, got "cheap"',
  ],
  [["route", "acme/sage", "--max-price-prompt", "0.5"], 1, "such a request would be answered 404: "],
  [["route", "--body", "/nowhere.json"], 66, "/nowhere.json: expected a file that can be read"],
  [["route", "acme/sage", "--order", "valut"], 0, ""],
] as const)(
  "%j: exit code %i",
  async (words, code, why) => {
    const { err, ...ended } = await headgate(...words)
    expect(ended.code).toBe(code)
    expect(err).toContain(why)
  },
  patience,
)
