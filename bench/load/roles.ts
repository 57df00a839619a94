/** The three parts that are played: the host, the raw proxy, the gateway. */
import { join, resolve } from "node:path"
import { type Child, freePort, start, untilAnswered } from "./processes.ts"
import { isWholeAnswer, model, requestBody } from "./script.ts"

/** The repository. */
export const root = resolve(import.meta.dir, "../..")

/** A proxy under measurement. */
export interface Target {
  readonly child: Child
  /** Where both forms of the answer are asked for. */
  readonly url: string
  readonly key: string
  /** Milliseconds from the start of the process to the end of the first right answer. */
  readonly firstAnswerMs: number
}

/** Starts one, with these arguments between `bun` and the program, and waits until it answers rightly. */
export type Role = (bunArguments: ReadonlyArray<string>) => Promise<Target>

export const startUpstream = async (folder: string, chunks: number, intervalMs: number): Promise<string> => {
  const port = freePort()
  const url = `http://127.0.0.1:${port}/v1`
  const script = ["--port", `${port}`, "--chunks", `${chunks}`, "--interval", `${intervalMs}`]
  const child = start({
    name: "upstream",
    command: [process.execPath, "bench/upstream.ts", ...script],
    cwd: root,
    folder,
  })
  await untilAnswered(child, () => answersAt(`${url}/chat/completions`, ""))
  return url
}

export const rawRole =
  (folder: string, upstream: string, name = "raw"): Role =>
  async (bunArguments) => {
    const port = freePort()
    const command = [
      process.execPath,
      ...bunArguments,
      "bench/rawProxy.ts",
      "--port",
      `${port}`,
      "--upstream",
      upstream,
    ]
    const child = start({ name, command, cwd: root, folder })
    return answering(child, port, "")
  }

/** The gateway with its ledger in a file, and an ordinary key with a limit: keys without one hold nothing, which is cheaper. */
export const gatewayRole = async (folder: string, upstream: string): Promise<Role> => {
  const config = join(folder, "headgate.config.json")
  const managementKey = `bench-management-${crypto.randomUUID()}`
  await Bun.write(config, JSON.stringify(configuration(upstream)))
  const launch = (bunArguments: ReadonlyArray<string>) => {
    const port = freePort()
    const env = {
      HEADGATE_CONFIG: config,
      HEADGATE_PORT: `${port}`,
      HEADGATE_STORAGE: `sqlite:${join(folder, "ledger.db")}`,
      HEADGATE_MANAGEMENT_KEY: managementKey,
    }
    const command = [process.execPath, ...bunArguments, "src/main.ts"]
    return { port, child: start({ name: "gateway", command, env, cwd: root, folder }) }
  }
  const first = launch([])
  const key = await ordinaryKey(first.child, first.port, managementKey)
  await first.child.stop()
  return (bunArguments) => {
    const { child, port } = launch(bunArguments)
    return answering(child, port, key)
  }
}

const configuration = (upstream: string) => ({
  plugins: { folders: [join(root, "plugins")] },
  discovery: { environment: false, local: false },
  providers: {
    bench: { plugin: "openai-compatible", base_url: upstream, network: "private", api_key: "x" },
  },
  models: [
    {
      id: model,
      name: "Bench",
      context_length: 128_000,
      hosts: [
        {
          provider: "bench",
          model: "bench-model",
          pricing: { prompt: "0.00000015", completion: "0.0000006" },
          context_length: 128_000,
          max_completion_tokens: 16_384,
        },
      ],
    },
  ],
})

const ordinaryKey = async (child: Child, port: number, managementKey: string): Promise<string> => {
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
  const url = `http://127.0.0.1:${port}/api/v1/chat/completions`
  const firstAnswerMs = await untilAnswered(child, () => answersAt(url, key))
  return { child, url, key, firstAnswerMs }
}

/** What is wrong with a whole answer asked for there. */
const answersAt = async (url: string, key: string): Promise<string | undefined> => {
  const response = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${key}` },
    body: requestBody(false),
  })
  const text = await response.text()
  return response.status === 200 && isWholeAnswer(text) ? undefined : `${response.status} ${text}`
}
