/** Model servers on this machine: found, kept up to date and lost, at ports of the test's own. */
import { afterEach, describe, expect, test } from "bun:test"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Scope from "effect/Scope"
import { modelsOf } from "../../../src/catalogue/localServers.ts"
import { ProviderRegistry } from "../../../src/catalogue/ProviderRegistry.ts"
import { unconfigured } from "../../../src/config/fields/providerFields.ts"
import type { GatewayConfigInput } from "../../../src/config/GatewayConfig.ts"
import { decodeConfig } from "../../../src/config/loadConfig.ts"
import { resolveConfig } from "../../../src/config/resolveConfig.ts"
import type { ProviderPlugin } from "../../../src/plugin/Provider.ts"
import { layerLocalServers } from "../../../src/services/hosts/localServers.ts"
import { Upstream } from "../../../src/upstream/Upstream.ts"
import { ManualClock, pass } from "../../support/clocks/manualClock.ts"
import { until } from "../../support/clocks/until.ts"
import { ownPlugins } from "../../support/gateways/gateway.ts"

const closers: Array<() => unknown> = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

interface Server {
  port: number
  readonly calls: Array<string>
  answer: (request: Request) => Response | Promise<Response>
  readonly stop: () => Promise<void>
  readonly start: () => void
}

/** A server that can go away and come back at the same port. */
const server = (answer: Server["answer"]): Server => {
  const made: Server = {
    port: 0,
    calls: [],
    answer,
    stop: async () => {
      await running?.stop(true)
      running = undefined
    },
    start: () => {
      running = Bun.serve({
        hostname: "127.0.0.1",
        port: made.port,
        fetch: async (request) => {
          const { pathname } = new URL(request.url)
          const names = [...request.headers.keys()].filter((name) => /auth|key|cookie/.test(name))
          made.calls.push([request.method, pathname, ...names].join(" "))
          return made.answer(request)
        },
      })
      made.port = running.port ?? 0
    },
  }
  let running: Bun.Server<undefined> | undefined
  made.start()
  closers.push(made.stop)
  return made
}

const entry = (name: string) => ({ name, model: name, digest: "a80c", details: { quantization_level: "Q4_K_M" } })

/** A server of the kind Ollama. `names` may change. */
const ollama = (names: Array<string>) =>
  server(async (request) => {
    const { pathname } = new URL(request.url)
    if (pathname === "/api/tags") return Response.json({ models: names.map(entry) })
    if (pathname !== "/api/show") return new Response("Ollama is running")
    const { model } = (await request.json()) as { model: string }
    return Response.json({
      capabilities: model.startsWith("nomic") ? ["embedding"] : ["completion", "tools"],
      model_info: { "general.architecture": "llama", "llama.context_length": 4096 },
    })
  })

const plugins = await Effect.runPromise(ownPlugins)

/** The project's own plugins, with these ports in place of the usual ones; those that are not named are looked for nowhere. */
const at = (ports: Readonly<Record<string, number>>): ReadonlyArray<ProviderPlugin> =>
  plugins.flatMap((plugin) => {
    if (plugin.kind !== "provider") return []
    const { local, ...rest } = plugin
    const port = ports[plugin.id]
    if (local === undefined || port === undefined) return [rest]
    const url = new URL(local.baseUrl)
    url.port = String(port)
    return [{ ...rest, local: { baseUrl: url.href.replace(/\/$/, "") } }]
  })

/** The registry of a gateway that looks for servers at these ports. */
const watching = async (ports: Readonly<Record<string, number>>, config: GatewayConfigInput = {}) => {
  const clock = new ManualClock()
  const log: Array<string> = []
  const quiet = Logger.replace(
    Logger.defaultLogger,
    Logger.make(({ message }) => log.push(String([message].flat()[0]))),
  )
  const built = Effect.gen(function* () {
    const decoded = yield* decodeConfig({ discovery: { environment: false }, ...config })
    const setup = yield* resolveConfig({ plugins: at(ports) }, { config: decoded, problems: [], unread: [] })
    return Layer.provideMerge(layerLocalServers, Layer.merge(ProviderRegistry.layer(setup.resolved), Upstream.layer))
  })
  const scope = await Effect.runPromise(Scope.make())
  closers.push(() => Effect.runPromise(Scope.close(scope, Exit.void)))
  const layer = Layer.provide(Layer.unwrapEffect(built), Layer.merge(Layer.setClock(clock), quiet))
  const context = await Effect.runPromise(Layer.buildWithScope(layer, scope))
  const registry = Context.get(context, ProviderRegistry)
  /** Without those of the plugin that is always on. */
  const ids = () => registry.current().models.flatMap(({ id }) => (id.startsWith("headgate/") ? [] : [String(id)]))
  /** The pause before the next look: nothing else of it waits longer than the ten seconds for the details. */
  const pause = () => clock.dueIn().find((ms) => ms > 10_000)
  /** Ends the pause, and waits for the look to end: it has, once the next pause has begun. */
  const look = async () => {
    await until(() => pause() !== undefined)
    clock.advance(pause() ?? 0)
    await until(() => pause() !== undefined)
  }
  /** Waits until so many answers, and details of a whole server, are waited for and no others. */
  const waitsFor = (count: number) => until(() => clock.dueIn().filter((ms) => ms >= 2000).length === count)
  return { registry, ids, log, look, waitsFor, clock }
}

describe("a server that runs when the gateway starts", () => {
  test("is found with its models, which cost nothing, and is asked without a key", async () => {
    const host = ollama(["llama3.2:3b", "nomic-embed-text:latest"])
    const { registry, ids, log } = await watching({ ollama: host.port })
    await until(() => ids().length === 2)
    expect(ids()).toEqual(["ollama/llama3.2:3b", "ollama/nomic-embed-text:latest"])
    expect(log.filter((line) => line.startsWith("Found"))).toEqual([
      `Found Ollama (local) at http://127.0.0.1:${host.port}: 2 models, such as ollama/llama3.2:3b.`,
    ])
    expect(host.calls.toSorted()).toEqual(["GET /", "GET /api/tags", "POST /api/show", "POST /api/show"])
    const [chat, vectors] = registry.current().models.filter(({ id }) => id.startsWith("ollama/"))
    expect(chat?.hosts[0]).toMatchObject({
      tag: "ollama-local",
      providerName: "Ollama (local)",
      upstreamModel: "llama3.2:3b",
      quantization: "int4",
      contextLength: 4096,
      local: true,
      privacy: { mayTrain: false, retainsPrompts: false },
      pricing: { prompt: 0n, completion: 0n },
    })
    expect(vectors?.architecture.outputModalities).toEqual(["embeddings"])
    const endpoint = chat?.hosts[0] && registry.endpoint(chat.hosts[0])
    expect([endpoint?.baseUrl, endpoint?.network, endpoint?.secrets]).toEqual([
      `http://127.0.0.1:${host.port}`,
      "private",
      [],
    ])
  })

  test("each kind lists its models in its own way", async () => {
    const openai = (owner: string, more: object, id = "Qwen/Qwen3-0.6B") =>
      server(() => Response.json({ object: "list", data: [{ id, object: "model", owned_by: owner, ...more }] }))
    const hosts = {
      vllm: openai("vllm", { max_model_len: 40_960 }),
      sglang: openai("sglang", { max_model_len: 32_768 }),
      llamacpp: openai("llamacpp", { meta: { n_ctx_train: 8192 } }, "/models/Qwen3-1.7B-Q4_K_M.gguf"),
      lmstudio: server(() =>
        Response.json({ object: "list", data: [{ id: "gemma-3", type: "vlm", max_context_length: 2048 }] }),
      ),
    }
    const ports = Object.fromEntries(Object.entries(hosts).map(([id, { port }]) => [id, port]))
    const { registry, ids } = await watching(ports)
    await until(() => ids().length === 4)
    const found = registry
      .current()
      .models.filter(({ id }) => ids().includes(id))
      .map(({ id, contextLength, hosts: [host] }) => [String(id), host?.upstreamModel, contextLength])
    expect(found.toSorted()).toEqual([
      ["llamacpp/Qwen3-1.7B-Q4_K_M", "/models/Qwen3-1.7B-Q4_K_M.gguf", 8192],
      ["lmstudio/gemma-3", "gemma-3", 2048],
      ["sglang/Qwen/Qwen3-0.6B", "Qwen/Qwen3-0.6B", 32_768],
      ["vllm/Qwen/Qwen3-0.6B", "Qwen/Qwen3-0.6B", 40_960],
    ])
    expect(hosts.lmstudio.calls).toContain("GET /api/v0/models")
  })
})

describe("F5: a configured server whose plugin does not say where such servers usually listen", () => {
  const providers = (host: Server, network?: "private") => ({
    providers: { mine: { plugin: "ollama", base_url: `http://127.0.0.1:${host.port}`, ...(network && { network }) } },
  })

  test("was never asked, and no line said so: on the operator's own network it is", async () => {
    const host = ollama(["llama3.2:3b"])
    const { ids, log } = await watching({}, providers(host, "private"))
    await until(() => ids().includes("ollama/llama3.2:3b"))
    expect(log.filter((line) => line.includes("not asked"))).toEqual([])
  })

  test.each<[string, object, object, string]>([
    ["elsewhere", { base_url: "https://ollama.example", network: "public" }, {}, 'its network is not "private"'],
    ["with discovery off", { network: "private" }, { local: false }, "discovery.local is false"],
  ])("%s is not asked, and a line says so", async (_where, members, discovery, why) => {
    const host = ollama(["llama3.2:3b"])
    const { mine } = providers(host).providers
    const { log } = await watching({}, { providers: { mine: { ...mine, ...members } }, discovery })
    expect(log).toContain(`providers.mine: its plugin can list what is installed, and is not asked, since ${why}`)
    expect(host.calls).toEqual([])
  })
})

describe("while the gateway runs", () => {
  test("a server that appears is found, its changes are followed, and it is lost without a storm", async () => {
    const names = ["llama3.2:3b"]
    const host = ollama(names)
    await host.stop()
    const { ids, look, log } = await watching({ ollama: host.port })
    await look()
    expect(ids()).toEqual([])
    host.start()
    await look()
    await until(() => ids().length === 1)
    const asked = host.calls.length
    await look()
    await until(() => host.calls.length > asked)
    // One question for each look, while nothing changes.
    expect(host.calls.slice(asked)).toEqual(["GET /api/tags"])
    names.push("qwen3:4b")
    await look()
    await until(() => ids().length === 2)
    names.shift()
    await look()
    await until(() => ids().length === 1)
    expect(ids()).toEqual(["ollama/qwen3:4b"])
    await host.stop()
    await look()
    // It may only be busy.
    expect(ids()).toEqual(["ollama/qwen3:4b"])
    await look()
    await until(() => ids().length === 0)
    for (let more = 0; more < 5; more++) await look()
    expect(log.map((line) => line.slice(0, 24))).toEqual(["Found Ollama (local) at ", "Ollama (local) at http:/"])
    host.start()
    await look()
    await until(() => ids().length === 1)
  })

  test("something else at its port is left alone, and asked seldom", async () => {
    const host = server(() => new Response("<html>It works!</html>", { headers: { "content-type": "text/html" } }))
    const { ids, look, log } = await watching({ ollama: host.port, llamacpp: host.port })
    await until(() => host.calls.length === 4)
    for (let more = 0; more < 9; more++) await look()
    expect(host.calls.toSorted()).toEqual(["GET /", "GET /", "GET /api/tags", "GET /v1/models"])
    await look()
    await until(() => host.calls.length === 6)
    expect([ids(), log]).toEqual([[], []])
  })

  test("one that accepts and never answers holds up nothing, and is given up", async () => {
    const host = server(() => new Promise<Response>(() => {}))
    const working = ollama(["llama3.2:3b"])
    const { ids, clock, waitsFor } = await watching({ vllm: host.port, ollama: working.port })
    await until(() => host.calls.length === 1 && working.calls.length === 3)
    await waitsFor(1)
    await pass(clock, 3000)
    await until(() => ids().length === 1)
  })

  test("a model whose details failed once was listed without them until the server's list changed", async () => {
    const host = ollama(["llama3.2:3b", "nomic-embed-text"])
    const { answer } = host
    let isBusy = true
    host.answer = (request) =>
      isBusy && request.url.endsWith("/api/show") ? new Response("busy", { status: 503 }) : answer(request)
    const { registry, ids, look } = await watching({ ollama: host.port })
    await until(() => ids().length === 2)
    const contexts = () => registry.current().models.flatMap(({ hosts }) => hosts.map((each) => each.contextLength))
    expect(contexts()).not.toContain(4096)
    isBusy = false
    await look()
    await until(() => contexts().includes(4096))
    const asked = host.calls.length
    await look()
    await until(() => host.calls.length > asked)
    expect(host.calls.slice(asked)).toEqual(["GET /api/tags"])
  })

  test("one whose details never come holds up no other; they are asked for again", async () => {
    const listing = { object: "list", data: [{ id: "qwen", object: "model", owned_by: "vllm", max_model_len: 4096 }] }
    const working = server(() => Response.json(listing))
    const names = Array.from({ length: 2000 }, (_, at) => `m${at}:latest`)
    const slow = ollama(names)
    const answer = slow.answer
    let isSlow = true
    slow.answer = (request) =>
      isSlow && request.url.endsWith("/api/show") ? new Promise<Response>(() => {}) : answer(request)
    const shows = () => slow.calls.filter((call) => call === "POST /api/show").length
    const { ids, clock, look, waitsFor } = await watching({ ollama: slow.port, vllm: working.port })
    await until(() => shows() === 4 && working.calls.length === 2)
    // Its first four details, and the limit for all of them.
    await waitsFor(5)
    await pass(clock, 12_000)
    await until(() => ids().includes("vllm/qwen") && ids().length === 513)
    isSlow = false
    const before = shows()
    await look()
    await until(() => shows() >= before + 400)
    // The last four of the look that was given up may arrive only now.
    expect(shows() - before).toBeLessThanOrEqual(512 + 4)
    expect(ids()).toHaveLength(513)
  })

  test("one that needs a key is not used", async () => {
    const host = server(() => Response.json({ error: "no key" }, { status: 401 }))
    const { ids } = await watching({ vllm: host.port })
    await until(() => host.calls.length === 2)
    expect([ids(), host.calls]).toEqual([[], ["GET /", "GET /v1/models"]])
  })
})

describe("names", () => {
  const model = (id: string, provider: string, more: object = {}) => ({
    id,
    context_length: 1000,
    hosts: [{ provider, model: "m", pricing: { prompt: "0.001", completion: "0.001" }, ...more }],
  })

  test("what is configured stays as it is; the server adds a host to it", async () => {
    const host = ollama(["llama3.2:3b", "small"])
    const { registry, ids } = await watching(
      { ollama: host.port },
      {
        providers: { acme: { plugin: "openai-compatible", base_url: "https://acme.example/v1" } },
        models: [
          model("acme/small", "acme"),
          model("ollama/llama3.2:3b", "ollama-local"),
          model("ollama/small", "acme"),
        ],
      },
    )
    const priced = registry.current().models.find(({ id }) => id === "ollama/llama3.2:3b")
    expect(priced?.hosts.map((one) => registry.unavailable(one))).toEqual(["its server was not found"])
    await until(() => registry.endpoint(priced?.hosts[0] as never) !== undefined)
    expect(ids()).toEqual(["acme/small", "ollama/llama3.2:3b", "ollama/small"])
    const hostsOf = (wanted: string) =>
      registry.current().models.flatMap(({ id, hosts }) => (id === wanted ? hosts : []))
    // Its price is the operator's.
    expect(hostsOf("ollama/llama3.2:3b")).toMatchObject([{ tag: "ollama-local", pricing: { prompt: 1_000_000_000n } }])
    expect(hostsOf("ollama/small").map(({ tag }) => String(tag))).toEqual(["acme", "ollama-local"])
    // A short name that meant a configured model still does.
    expect(registry.resolve("llama3.2:3b")).toMatchObject({ right: { model: { id: "ollama/llama3.2:3b" } } })
  })

  test("a server cannot take the short name of another model, nor a foreign id", async () => {
    const host = ollama(["small"])
    const config = {
      providers: { acme: { plugin: "openai-compatible", base_url: "https://acme.example/v1" } },
      models: [model("acme/small", "acme")],
    }
    const { registry, ids } = await watching({ ollama: host.port }, config)
    await until(() => ids().length === 2)
    expect(registry.resolve("small")).toMatchObject({ right: { model: { id: "acme/small" } } })
    expect(registry.resolve("ollama/small")).toMatchObject({ right: { model: { id: "ollama/small" } } })

    const [plugin] = at({ ollama: host.port }).filter(({ id }) => id === "ollama")
    if (plugin === undefined) throw new Error("no plugin")
    const settings = { ...unconfigured("ollama-local"), plugin: "ollama" }
    const listed = ["openai/gpt-6-sol", "ollama/", "ollama/a b", "ollama/fine"].map((id) => ({ id, context_length: 1 }))
    expect(modelsOf(listed, { settings, plugin }).map(({ id }) => String(id))).toEqual(["ollama/fine"])
  })

  test("a server of the configuration lists its own models, with its key, in place of those of the vendor", async () => {
    const host = ollama(["llama3.2:3b"])
    const base_url = `http://127.0.0.1:${host.port}`
    const box = { plugin: "ollama", base_url, network: "private" as const, api_key: "key-of-the-box" }
    const { registry, ids, look } = await watching({ ollama: host.port }, { providers: { box } })
    await until(() => ids().length === 1)
    const [model] = registry.current().models.filter(({ id }) => id === "ollama/llama3.2:3b")
    expect(model?.hosts.map(({ tag }) => String(tag))).toEqual(["box"])
    expect(host.calls).toEqual(["GET /api/tags authorization", "POST /api/show authorization"])
    await host.stop()
    await look()
    await look()
    await until(() => ids().length === 0)
  })

  test("an address that the configuration has is the operator's, and is not looked at", async () => {
    const host = ollama(["llama3.2:3b"])
    const asked = async (config: GatewayConfigInput) => {
      const { look, registry } = await watching({ ollama: host.port }, config)
      await look()
      return [host.calls.length, registry.current().providers.has("ollama-local")]
    }
    const base_url = `http://localhost:${host.port}/v1`
    expect(await asked({ providers: { mine: { plugin: "openai-compatible", base_url, network: "private" } } })).toEqual(
      [0, false],
    )
    expect(await asked({ discovery: { environment: false, local: false } })).toEqual([0, false])
  })
})
