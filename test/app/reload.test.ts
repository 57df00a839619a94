/** The configuration of a running process is replaced: by SIGHUP and by `POST /config/reload`. docs/configuration.md */
import { afterAll, describe, expect, test } from "bun:test"
import { rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { contentOf, readStrictly } from "../support/clients/strictSse.ts"
import { until } from "../support/clocks/until.ts"
import { install } from "../support/gateways/process.ts"
import { chunkOf, configFor, scriptedHost, wholeAnswer } from "../support/hosts/host.ts"
import { ownPluginsFolder } from "../support/hosts/ownPlugins.ts"
import { event, lastPart, type Peer, rawHost, streamHead } from "../support/hosts/rawHost.ts"

const closing: Array<() => unknown> = []
afterAll(() => Promise.all(closing.map((close) => close())))

const managementKey = "reload-management-key-0123456789abcdef"

const base = { discovery: { environment: false, local: false }, plugins: { folders: [ownPluginsFolder()] } }

interface Answer {
  readonly status: number
  readonly body: unknown
}

/** A gateway with a host that answers at once, and one whose streams the test writes. */
const running = async () => {
  const installation = install()
  closing.push(installation.remove)
  const peers: Array<Peer> = []
  const slow = rawHost((peer) => {
    peers.push(peer)
    peer.write(streamHead)
  })
  const quick = scriptedHost(() => wholeAnswer("fine", { prompt_tokens: 10, completion_tokens: 0 }))
  closing.push(slow.stop, quick.stop)
  const file = join(installation.folder, "headgate.config.json")
  const configOf = (prompt: string, more: object = {}) =>
    configFor({ quick: { url: quick.url, prompt } }, { ...base, ...more })
  const withSlow = configFor({ slow: { url: slow.url } }, {})
  const write = (config: unknown) => writeFileSync(file, typeof config === "string" ? config : JSON.stringify(config))
  return { installation, peers, file, quick, write, configOf, withSlow }
}

describe("a reload", () => {
  test("lets a stream of a removed provider end, charges new prices from the next request on, and keeps the old file where the new one is wrong", async () => {
    const { installation, peers, file, write, configOf, withSlow } = await running()
    const first = configOf("0.000001")
    const both = {
      ...first,
      providers: { ...first.providers, ...withSlow.providers },
      models: [...first.models, ...withSlow.models.map((model) => ({ ...model, id: "acme/slow" }))],
    }
    write(both)
    const gateway = installation.start({ env: { HEADGATE_MANAGEMENT_KEY: managementKey } })
    const url = await gateway.url()
    const call = async (path: string, key: string, body: object = {}): Promise<Answer> => {
      const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" }
      const answer = await fetch(`${url}${path}`, { method: "POST", headers, body: JSON.stringify(body) })
      return { status: answer.status, body: await answer.json() }
    }
    const created = await call("/keys", managementKey, { name: "caller" })
    const key = String((created.body as { key: string }).key)
    const ask = (model = "acme/small") =>
      call("/chat/completions", key, { model, messages: [{ role: "user", content: "hi" }] })
    const reload = () => call("/config/reload", managementKey)
    expect((await ask()).body).toMatchObject({ usage: { cost: 0.00001 } })

    const streaming = fetch(`${url}/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "acme/slow", messages: [{ role: "user", content: "hi" }], stream: true }),
    })
    await until(() => peers.length === 1, "the call")
    const say = (bytes: Uint8Array) => peers[0]?.write(bytes)
    say(event(chunkOf({ delta: { content: "before " }, finish_reason: null })))
    const stream = await streaming

    // By HTTP: another price, and the provider of the stream is gone.
    write(configOf("0.000002", { server: { port: 9 } }))
    expect(await reload()).toEqual({
      status: 200,
      body: {
        data: {
          file,
          changed: ["providers.slow", 'models["acme/small"].hosts.quick.pricing.prompt', 'models["acme/slow"]'],
          needs_restart: ["server.port"],
          warnings: [expect.stringContaining("providers.quick.api_key: a secret stands in the file")],
        },
      },
    })
    expect((await ask()).body).toMatchObject({ usage: { cost: 0.00002 } })
    expect((await ask("acme/slow")).status).toBe(400)

    // What is in force is what the next reload compares with: the same file once more changes nothing.
    expect(await reload()).toMatchObject({
      status: 200,
      body: { data: { changed: [], needs_restart: ["server.port"] } },
    })

    // The stream goes on.
    say(event(chunkOf({ delta: { content: "after" }, finish_reason: null })))
    say(event(chunkOf({ delta: {}, finish_reason: "stop" }, { usage: { prompt_tokens: 3, completion_tokens: 2 } })))
    say(event("[DONE]"))
    say(Buffer.from(lastPart))
    const { events } = readStrictly(await stream.text())
    expect(contentOf(events)).toBe("before after")

    // What is wrong changes nothing, however it is asked for.
    write({ ...configOf("0.5"), limits: { retries: -1 }, billing: { unknown_prices: "deny" } })
    const refused = await reload()
    expect(refused).toMatchObject({
      status: 400,
      body: {
        error: { code: 400, metadata: { issues: [{ path: "limits.retries" }, { path: "billing.unknown_prices" }] } },
      },
    })
    write("{")
    process.kill(gateway.pid, "SIGHUP")
    await until(() => gateway.err().includes("expected JSON"), "the line")
    expect((await ask()).body).toMatchObject({ usage: { cost: 0.00002 } })

    // By signal.
    write(configOf("0.000003", { limits: { body_bytes: 10 } }))
    process.kill(gateway.pid, "SIGHUP")
    await until(() => /Configuration reloaded.*limits\.body_bytes/.test(gateway.err()), "the reload")
    expect((await ask()).status).toBe(413)
    // Nobody but management.
    expect((await call("/config/reload", key)).status).toBe(403)

    gateway.kill("SIGTERM")
    expect(await gateway.exited).toBe(0)
    const verified = await installation.command(["audit", "verify"])
    expect(verified.out).toContain("3 rows")
  }, 1_800_000)

  test("F12: a plugin that was added, changed or removed since the start was not told of: it needs a restart", async () => {
    const { installation, file, write, configOf } = await running()
    const folders = [ownPluginsFolder(), "./plugins"]
    const strategy = join(installation.folder, "plugins/strategies/near/index.ts")
    const source = `
      import * as Schema from "effect/Schema"
      import { defineStrategy } from "headgate/plugin"
      export default defineStrategy({ id: "near", config: Schema.Struct({}), load: () => (hosts) => hosts })`
    await Bun.write(strategy, source)
    write(configOf("0.000001", { plugins: { folders } }))
    const gateway = installation.start({ env: { HEADGATE_MANAGEMENT_KEY: managementKey } })
    const url = await gateway.url()
    const reload = async () => {
      const headers = { authorization: `Bearer ${managementKey}` }
      const answer = await fetch(`${url}/config/reload`, { method: "POST", headers })
      return JSON.parse(await answer.text())
    }
    const none = { data: { file, changed: [], needs_restart: [] } }
    const plugins = { data: { file, changed: [], needs_restart: ["plugins"] } }
    expect(await reload()).toMatchObject(none)
    const added = join(installation.folder, "plugins/strategies/far/index.ts")
    await Bun.write(added, source.replace('"near"', '"far"'))
    expect(await reload()).toMatchObject(plugins)
    write(configOf("0.000001", { plugins: { folders }, routing: { strategy: "far" } }))
    expect(await reload()).toMatchObject({
      error: {
        metadata: {
          issues: [
            {
              path: "routing.strategy",
              message: expect.stringContaining("plugins have changed since the start: restart the gateway"),
            },
          ],
        },
      },
    })
    write(configOf("0.000001", { plugins: { folders } }))
    rmSync(join(installation.folder, "plugins/strategies/far"), { recursive: true })
    expect(await reload()).toMatchObject(none)
    await Bun.write(strategy, `${source}\n// another text`)
    expect(await reload()).toMatchObject(plugins)
    expect(gateway.err()).toContain("Takes effect at the next start: plugins")
    gateway.kill("SIGTERM")
    expect(await gateway.exited).toBe(0)
  }, 1_800_000)

  test("changes what the state says of configuration and providers", async () => {
    const { installation, file, write, configOf } = await running()
    const first = configOf("0.000001")
    write(first)
    const gateway = installation.start({ env: { HEADGATE_MANAGEMENT_KEY: managementKey } })
    const url = await gateway.url()
    const read = async (path: string, method = "GET") => {
      const answer = await fetch(`${url}${path}`, { method, headers: { authorization: `Bearer ${managementKey}` } })
      // biome-ignore lint/suspicious/noExplicitAny: the test looks into answers, and a wrong guess is a failing test.
      const { data }: any = await answer.json()
      return data
    }
    const before = await read("/state")
    expect(before).toMatchObject({
      storage: { kind: "sqlite", reachable: true },
      configuration: { file },
      warnings: [expect.stringContaining("providers.quick.api_key: a secret stands in the file")],
    })
    const { free_bytes, total_bytes } = before.disk
    expect(free_bytes > 0 && total_bytes >= free_bytes).toBe(true)
    const quick = async () =>
      (await read("/providers/state")).find(({ slug }: { readonly slug: string }) => slug === "quick")
    expect(await quick()).toMatchObject({ state: "on", source: "configuration", hosts: 1, why: null })

    const { api_key: _, ...keyless } = { api_key: "", ...first.providers["quick"] }
    write({ ...first, providers: { quick: { ...keyless, enabled: false } } })
    await read("/config/reload", "POST")
    const after = await read("/state")
    expect(after.warnings).toEqual([])
    expect(Date.parse(after.configuration.loaded_at) > Date.parse(before.configuration.loaded_at)).toBe(true)
    expect(after.started_at).toBe(before.started_at)
    expect(await quick()).toMatchObject({ state: "off", why: "disabled in the configuration", hosts: 0 })
    gateway.kill("SIGTERM")
    expect(await gateway.exited).toBe(0)
  }, 1_800_000)

  test("that a signal asks for while the gateway starts comes when it serves", async () => {
    const { installation, configOf } = await running()
    const file = join(installation.folder, "headgate.config.ts")
    // The first reading of the file sends the signal.
    const source = `
      if (process.env.WAS_READ === undefined) process.kill(process.pid, "SIGHUP")
      process.env.WAS_READ = "yes"
      export default ${JSON.stringify(configOf("0.000001"))}`
    writeFileSync(file, source)
    const gateway = installation.start({ env: { HEADGATE_CONFIG: file } })
    await gateway.url()
    await until(() => gateway.err().includes("Configuration reloaded"), "the reload")
    gateway.kill("SIGTERM")
    expect(await gateway.exited).toBe(0)
  }, 1_800_000)
})
