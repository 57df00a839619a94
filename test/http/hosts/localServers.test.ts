/** The gateway as it is run finds a model server on its machine, and calls it. */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { until } from "../../support/clocks/until.ts"
import { install, type RunningGateway } from "../../support/gateways/process.ts"

const ownPlugins = new URL("../../../plugins", import.meta.url).pathname
const installation = install()
const calls: Array<{ readonly path: string; readonly body: unknown; readonly authorization: string | null }> = []

const lines = (...written: ReadonlyArray<object>) =>
  new Response(written.map((line) => `${JSON.stringify(line)}\n`).join(""), {
    headers: { "content-type": "application/x-ndjson" },
  })

const counts = { done: true, done_reason: "stop", prompt_eval_count: 12, eval_count: 3 }
const ollama = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: async (request) => {
    const { pathname: path } = new URL(request.url)
    const body: unknown = request.method === "POST" ? await request.json() : undefined
    calls.push({ path, body, authorization: request.headers.get("authorization") })
    if (path === "/api/tags") return Response.json({ models: [{ name: "llama3.2:3b", digest: "a80c" }] })
    if (path === "/api/show") return Response.json({ capabilities: ["completion"], model_info: {} })
    if (path === "/api/chat")
      return lines(
        { message: { role: "assistant", content: "About " }, done: false },
        { message: { role: "assistant", content: "20 °C" }, done: false },
        { message: { role: "assistant", content: "" }, ...counts },
      )
    return new Response("Ollama is running")
  },
})
/** Accepts, and never answers. */
const silent = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Promise<Response>(() => {}) })

/** The project's own plugin, with another port in place of the usual one. */
const moved = (id: string, baseUrl: string): void => {
  const folder = join(installation.folder, "plugins", "providers", id)
  mkdirSync(folder, { recursive: true })
  const own = JSON.stringify(join(ownPlugins, "providers", id, "index.ts"))
  const text = `import own from ${own}\nexport default { ...own, local: { baseUrl: ${JSON.stringify(baseUrl)} } }\n`
  writeFileSync(join(folder, "index.ts"), text)
}

let gateway: RunningGateway
const managementKey = "sk-mgmt-0123456789abcdef0123456789abcdef"
let url: string
let key: string

beforeAll(async () => {
  moved("ollama", `http://127.0.0.1:${ollama.port}`)
  moved("vllm", `http://127.0.0.1:${silent.port}/v1`)
  gateway = installation.start({
    config: { plugins: { folders: [join(installation.folder, "plugins")] }, storage: "memory:" },
    env: { HEADGATE_MANAGEMENT_KEY: managementKey, OLLAMA_API_KEY: "key-of-the-cloud" },
  })
  url = await gateway.url()
  const made = await fetch(`${url}/keys`, {
    method: "POST",
    headers: { authorization: `Bearer ${managementKey}`, "content-type": "application/json" },
    body: JSON.stringify({ name: "test" }),
  })
  key = ((await made.json()) as { key: string }).key
})
afterAll(async () => {
  await installation.remove()
  await ollama.stop(true)
  await silent.stop(true)
})

const model = "ollama/llama3.2:3b"

test("a server that is there is called, costs nothing, and never gets a key", async () => {
  const listed = async () => {
    const answer = await fetch(`${url}/models`, { headers: { authorization: `Bearer ${key}` } })
    const { data } = (await answer.json()) as { data: ReadonlyArray<{ id: string; pricing: unknown }> }
    return data.find(({ id }) => id === model)
  }
  // One that did not answer within two seconds is looked for again after half a minute.
  await until(async () => (await listed()) !== undefined, "the model", 300_000)
  expect((await listed())?.pricing).toMatchObject({ prompt: "0", completion: "0" })
  const answer = await fetch(`${url}/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model, messages: [{ role: "user", content: "Rome?" }], stream: true, max_tokens: 20 }),
  })
  const text = await answer.text()
  expect([answer.status, answer.headers.get("x-gw-host")]).toEqual([200, "ollama-local"])
  expect(text).toContain('"content":"20 °C"')
  expect(text).toContain('"cost":0')
  const chat = calls.find(({ path }) => path === "/api/chat")
  expect(chat?.body).toMatchObject({ model: "llama3.2:3b", options: { num_predict: 20 }, stream: true })
  expect(calls.map(({ authorization }) => authorization)).toEqual(calls.map(() => null))
  await until(() => (gateway.err() + gateway.out()).includes("Found Ollama (local)"), "the line of the log")
}, 1_800_000)
