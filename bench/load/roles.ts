/** The processes of a comparison: the host, the raw proxy and the gateway. */
import { mkdtemp } from "node:fs/promises"
import { join, resolve } from "node:path"
import type { Certificate } from "./certificate.ts"
import { type Child, freePort, start, untilAnswered } from "./processes.ts"
import { isWholeAnswer, type Model, models, requestBody } from "./script.ts"

/** The repository. */
export const root = resolve(import.meta.dir, "../..")

/** Where completions are asked for, and with which key. */
export interface Address {
  readonly url: string
  readonly key: string
}

/** A proxy under measurement. */
export interface Target extends Address {
  readonly child: Child
  /** Milliseconds from the start of the process to the end of the first right answer. */
  readonly firstAnswerMs: number
}

/** Starts a proxy, with these arguments between `bun` and the program, and waits until it answers rightly. */
export type Role = (bunArguments: ReadonlyArray<string>) => Promise<Target>

export interface Roles {
  readonly host: Address
  readonly raw: Role
  readonly gateway: Role
}

export interface RolesOptions {
  /** Where a folder for their files is made. */
  readonly folder: string
  /** Whether a second raw proxy takes the place of the gateway. */
  readonly self: boolean
  /** With it, the host speaks TLS, and both proxies trust its authority. */
  readonly certificate?: Certificate
}

/** Starts the host, and prepares both proxies to call it. */
export const prepareRoles = async ({ folder, self, certificate }: RolesOptions): Promise<Roles> => {
  const own = await mkdtemp(join(folder, "roles-"))
  const host = await startHost(own, certificate)
  const upstream = host.url.replace(/\/chat\/completions$/, "")
  const env = certificate === undefined ? {} : { NODE_EXTRA_CA_CERTS: certificate.authority }
  const raw = rawRole({ name: "raw", folder: own, upstream, env })
  const gateway = self
    ? rawRole({ name: "self", folder: own, upstream, env })
    : await gatewayRole({ name: "gateway", folder: own, upstream, env })
  return { host, raw, gateway }
}

interface RoleOptions {
  readonly name: string
  readonly folder: string
  readonly upstream: string
  readonly env: Readonly<Record<string, string>>
}

export interface GatewayOptions extends RoleOptions {
  /** Default: a file in `folder`. */
  readonly storage?: string
  /** Default: 1. */
  readonly workers?: number
  /** Tokens of every model. Default: 128,000. */
  readonly contextLength?: number
  /** Makes another configuration of the usual one. */
  readonly change?: (usual: Configuration) => object
}

export const startHost = async (folder: string, certificate?: Certificate): Promise<Address> => {
  const port = freePort()
  const command = [process.execPath, "bench/upstream.ts", "--port", `${port}`]
  if (certificate !== undefined) command.push("--cert", certificate.cert, "--key", certificate.key)
  const child = start({ name: "upstream", command, cwd: root, folder })
  const scheme = certificate === undefined ? "http" : "https"
  const host = { url: `${scheme}://127.0.0.1:${port}/v1/chat/completions`, key: "" }
  await untilAnswered(child, () => wrongAnswer(host, certificate?.authority))
  return host
}

const rawRole =
  ({ name, folder, upstream, env }: RoleOptions): Role =>
  async (bunArguments) => {
    const port = freePort()
    const program = ["bench/rawProxy.ts", "--port", `${port}`, "--upstream", upstream]
    const child = start({ name, command: [process.execPath, ...bunArguments, ...program], env, cwd: root, folder })
    return answering(child, port, "")
  }

/** The gateway with an ordinary key with a limit: a key without one reserves nothing, which is cheaper. */
export const gatewayRole = async ({
  name,
  folder,
  upstream,
  env,
  storage = `sqlite:${join(folder, "ledger.db")}`,
  workers = 1,
  contextLength = 128_000,
  change = (usual) => usual,
}: GatewayOptions): Promise<Role> => {
  const config = join(folder, `${name}.config.json`)
  const managementKey = `bench-management-${crypto.randomUUID()}`
  const { server, ...changed }: { readonly server?: object } = change(configuration(upstream, contextLength))
  await Bun.write(config, JSON.stringify({ ...changed, server: { ...server, workers } }))
  const launch = (bunArguments: ReadonlyArray<string>) => {
    const port = freePort()
    const settings = {
      ...env,
      HEADGATE_CONFIG: config,
      HEADGATE_PORT: `${port}`,
      HEADGATE_STORAGE: storage,
      HEADGATE_MANAGEMENT_KEY: managementKey,
    }
    const command = [process.execPath, ...bunArguments, "src/main.ts"]
    return { port, child: start({ name, command, env: settings, cwd: root, folder }) }
  }
  const first = launch([])
  const key = await ordinaryKey(first.child, first.port, managementKey)
  await first.child.stop()
  return (bunArguments) => {
    const { child, port } = launch(bunArguments)
    return answering(child, port, key)
  }
}

const providers = ["bench-a", "bench-b"] as const

/** The second host is more expensive by a third, so that the default strategy sends it about one request in three. */
const hostOf = (provider: (typeof providers)[number], model: string, contextLength: number) => ({
  provider,
  model,
  pricing:
    provider === "bench-a"
      ? { prompt: "0.00000015", completion: "0.0000006" }
      : { prompt: "0.0000002", completion: "0.0000008" },
  context_length: contextLength,
  max_completion_tokens: 16_384,
})

export type Configuration = ReturnType<typeof configuration>

const configuration = (upstream: string, contextLength: number) => {
  const provider = { plugin: "openai-compatible", base_url: upstream, network: "private", api_key: "x" }
  return {
    plugins: { folders: [join(root, "plugins")] },
    discovery: { environment: false, local: false },
    // All callers have one key, which may have a quarter of the places.
    limits: { max_in_flight: 8192 },
    providers: Object.fromEntries(providers.map((slug) => [slug, provider])),
    models: Object.keys(models).map((id) => ({
      id,
      name: id,
      context_length: contextLength,
      hosts: providers.slice(0, id === "bench/one-host" ? 1 : 2).map((slug) => hostOf(slug, id, contextLength)),
    })),
  }
}

/** Makes a key with a limit, once the gateway serves. */
export const ordinaryKey = async (child: Child, port: number, managementKey: string): Promise<string> => {
  let key = ""
  await untilAnswered(child, async () => {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/keys`, {
      method: "POST",
      headers: { "Content-Type": "application/json", Authorization: `Bearer ${managementKey}` },
      body: JSON.stringify({ name: "bench", limit: 100_000 }),
    })
    const text = await response.text()
    if (response.status !== 201) return `${response.status} ${text}`
    const made: { key: string } = JSON.parse(text)
    key = made.key
    return undefined
  })
  return key
}

const answering = async (child: Child, port: number, key: string): Promise<Target> => {
  const address = { url: `http://127.0.0.1:${port}/api/v1/chat/completions`, key }
  const firstAnswerMs = await untilAnswered(child, () => wrongAnswer(address))
  return { ...address, child, firstAnswerMs }
}

const probe: Model = "bench/brisk"

/** What is wrong with a non-streaming answer from there; `undefined`: nothing. */
const wrongAnswer = async ({ url, key }: Address, authority?: string): Promise<string | undefined> => {
  const response = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${key}` },
    body: requestBody(probe, false),
    ...(authority === undefined ? {} : { tls: { ca: Bun.file(authority) } }),
  })
  const text = await response.text()
  return response.status === 200 && isWholeAnswer(text) ? undefined : `${response.status} ${text}`
}
