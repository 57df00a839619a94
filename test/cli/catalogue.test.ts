/** `headgate catalogue refresh` beside a gateway with a small ledger. docs/catalogue.md */
import { afterAll, describe, expect, test } from "bun:test"
import { existsSync, readdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { until } from "../support/clocks/until.ts"
import { firstKey, type Installation, install } from "../support/gateways/process.ts"

const patience = 1_800_000

const installations: Array<Installation> = []
afterAll(() => Promise.all(installations.map(({ remove }) => remove())))

const installed = () => {
  const installation = install()
  installations.push(installation)
  const own = join(installation.folder, "data", "catalogue.json")
  const config = { discovery: { environment: false, local: false }, catalogue: { file: own } }
  const source = join(installation.folder, "new.json")
  const write = (raw: unknown) => writeFileSync(source, typeof raw === "string" ? raw : JSON.stringify(raw))
  const refresh = (...words: ReadonlyArray<string>) => installation.command(["catalogue", "refresh", ...words])
  return { installation, config, own, source, write, refresh }
}

const model = (id: string, prompt: string, more: object = {}) => ({
  id,
  context_length: 100_000,
  hosts: [{ model: "echo", pricing: { prompt, completion: "0.000002" } }],
  ...more,
})
const tripled = { format: 1, providers: { echo: [model("headgate/echo", "0.000003"), model("headgate/other", "0")] } }

const body = JSON.stringify({ model: "headgate/echo", messages: [{ role: "user", content: "Hello, gateway!" }] })
const ask = (url: string, key: string, path: string, sent?: string) =>
  fetch(`${url}${path}`, {
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    ...(sent === undefined ? {} : { method: "POST", body: sent }),
  })

test(
  "shows what changes and what last week would have cost, writes it on demand, and the next start has it",
  async () => {
    const { installation, config, own, source, write, refresh } = installed()
    const gateway = installation.start({ config })
    const url = await gateway.url()
    await until(() => gateway.out().includes("curl "), "the keys")
    const key = firstKey(gateway.out())
    for (const _ of [1, 2]) expect((await ask(url, key, "/chat/completions", body)).status).toBe(200)

    write(tripled)
    const shown = await refresh(source)
    expect({ ...shown, out: shown.out.trimEnd().split("\n") }).toEqual({
      code: 0,
      err: "",
      out: [
        "+ model headgate/other",
        "- model headgate/echo-embeddings",
        "- model headgate/echo-rerank",
        "+ host headgate/other echo",
        "- host headgate/echo-embeddings echo",
        "- host headgate/echo-rerank echo",
        "~ price headgate/echo echo: 1 / 2 -> 3 / 2",
        "headgate/echo echo\t2\t0.000012\t0.00002\t0.000008",
        "total\t2\t0.000012\t0.00002\t0.000008",
      ],
    })
    expect(existsSync(own)).toBe(false)

    // From an address too, with figures for programs.
    const server = Bun.serve({ port: 0, fetch: () => Response.json(tripled) })
    const applied = await refresh(`http://127.0.0.1:${server.port}/models.json`, "--apply", "--json")
    await server.stop(true)
    expect([applied.code, applied.err, JSON.parse(applied.out).last_week]).toEqual([
      0,
      "",
      [{ model: "headgate/echo", host: "echo", rows: 2, now_usd: "0.000012", new_usd: "0.00002" }],
    ])
    expect(readdirSync(join(installation.folder, "data")).filter((name) => name.startsWith("catalogue"))).toEqual([
      "catalogue.json",
    ])
    expect((await refresh(own)).out).toBe("no change for the providers that are on\n")

    gateway.kill("SIGTERM")
    await gateway.exited
    const next = installation.start()
    const { data } = JSON.parse(await (await ask(await next.url(), key, "/models")).text())
    expect(data.map((each: { id: string; pricing: { prompt: string } }) => [each.id, each.pricing.prompt])).toEqual([
      ["headgate/echo", "0.000003"],
      ["headgate/other", "0"],
    ])
    next.kill("SIGKILL")
    await next.exited

    writeFileSync(own, "{")
    const broken = installation.start()
    expect(await broken.exited).toBe(78)
    expect(broken.err()).toContain(`${own}: expected JSON`)
  },
  patience,
)

describe("what does not validate is refused, and nothing is written", () => {
  const { config, own, source, write, refresh, installation } = installed()
  writeFileSync(join(installation.folder, "headgate.config.json"), JSON.stringify(config))

  test.each<[string, unknown, number, string]>([
    ["no JSON", "{", 65, "expected JSON"],
    ["another format", { format: 7, providers: {} }, 65, "format: expected 1"],
    [
      "a price that is none, and a field that is unknown",
      { format: 1, providers: { echo: [model("headgate/echo", "-1", { colour: "red" })] } },
      65,
      "providers.echo[0].colour: unknown field",
    ],
    [
      "a host without a length of context",
      { format: 1, providers: { acme: [{ id: "a/b", hosts: [{}] }] } },
      65,
      "providers.acme[0].hosts[0].context_length",
    ],
    [
      "a catalogue by model with what is no model and no host",
      { format: 1, providers: {}, models: [null, { id: "a/b", hosts: "x" }, { id: "a/c", hosts: [{}, null] }] },
      65,
      "models[0]: expected an object, got null\nmodels[1].hosts: expected a list, got string\nmodels[2].hosts[0].provider: expected a slug of a provider, got nothing\nmodels[2].hosts[1].provider",
    ],
  ])(
    "%s",
    async (_what, raw, code, says) => {
      write(raw)
      const ended = await refresh(source, "--apply")
      expect([ended.code, ended.out]).toEqual([code, ""])
      expect(ended.err).toContain(says)
      expect(existsSync(own)).toBe(false)
    },
    patience,
  )

  test.each<[string, number, string]>([
    ["http://models.example/list.json", 64, "expected https"],
    ["https://169.254.169.254/list.json", 64, "expected a public address"],
    ["https://10.0.0.1/list.json", 64, "expected a public address"],
    ["https://a:b@models.example/list.json", 64, "without user name"],
    ["http://127.0.0.1:1/list.json", 69, "http://127.0.0.1:1/list.json"],
    ["/nowhere/list.json", 66, "expected a file"],
  ])(
    "%s",
    async (address, code, says) => {
      const ended = await refresh(address)
      expect([ended.code, ended.out]).toEqual([code, ""])
      expect(ended.err).toContain(says)
    },
    patience,
  )
})
