/** `headgate reload`, against a gateway that runs. docs/configuration.md#reload */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { until } from "../support/clocks/until.ts"
import { firstManagementKey, type Installation, install } from "../support/gateways/process.ts"

const patience = 1_800_000

const server = { plugin: "openai-compatible", base_url: "https://acme.example/v1" }
const config = {
  discovery: { environment: false, local: false },
  providers: { acme: server },
  models: [{ id: "acme/sage", context_length: 8192, hosts: [{ provider: "acme" }] }],
}

let installation: Installation
let environment: Readonly<Record<string, string>> = {}
let file = ""

beforeAll(async () => {
  installation = install()
  file = join(installation.folder, "headgate.config.json")
  const gateway = installation.start({ config })
  const url = new URL(await gateway.url())
  await until(() => firstManagementKey(gateway.out()) !== "", "the keys")
  environment = { HEADGATE_MANAGEMENT_KEY: firstManagementKey(gateway.out()), HEADGATE_PORT: url.port }
}, patience)
afterAll(() => installation.remove())

const reload = (...words: ReadonlyArray<string>) => installation.command(["reload", ...words], environment)

/** The configuration as it stands, with these members. */
const change = (members: object) =>
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), ...members }))

test(
  "says what has changed, and what needs a restart",
  async () => {
    const { code, out, err } = await reload()
    expect([code, out.split("\n").slice(1), err]).toEqual([
      0,
      ["changed\t-", "needs_restart\t-", "warnings\t-", ""],
      "",
    ])
    expect(out).toStartWith("file\t")
    change({ limits: { retries: 2 }, records: { requests_days: 3 } })
    const { out: json } = await reload("--json")
    expect(JSON.parse(json)).toMatchObject({
      changed: ["limits.retries"],
      needs_restart: ["records.requests_days"],
      warnings: [],
    })
  },
  patience,
)

test(
  "of a file with mistakes names every one, and nothing changes",
  async () => {
    change({ limits: { retries: 2 } })
    expect((await reload()).code).toBe(0)
    change({ limits: { retries: -1 }, providers: { acme: { ...server, base_url: "nowhere" } } })
    const { code, out, err } = await reload()
    expect([code, out]).toEqual([1, ""])
    expect(err).toStartWith("headgate: the gateway answered 400: ")
    for (const member of ["limits.retries: ", "providers.acme.base_url: "]) expect(err).toContain(member)
    expect(err.trim().split("\n")).toHaveLength(1)
    change({ models: Array.from({ length: 15 }, (_, n) => ({ id: `no slash ${n}`, hosts: [] })) })
    expect((await reload()).err).toMatch(/and \d+ more\n$/)
    change({ limits: { retries: 2 }, providers: { acme: server }, models: config.models })
    expect(JSON.parse((await reload("--json")).out)).toMatchObject({ changed: [] })
  },
  patience,
)
