/**
 * The memory that a gateway's process takes under the longest bodies that its bounds admit: eight of 32 MiB at once, two of each of
 * four keys, while their host has not answered. `bun bench/bodyMemory.ts [ROUNDS] [KIND]` prints the peak of the resident memory
 * (`VmHWM`) by kind of body, each of a process of its own on SQLite with default settings. Linux only.
 * docs/decisions/0045-what-one-caller-may-take.md
 */
import { readFileSync } from "node:fs"
import { until } from "../test/support/clocks/until.ts"
import { firstManagementKey, install } from "../test/support/gateways/process.ts"

const mebibyte = 1_048_576
const longest = 32 * mebibyte
const keys = 4
const bodiesOfKey = 2

const rounds = Number(process.argv[2] ?? 3)
const only = process.argv[3]

/** A body of exactly the longest length, whose text is `unit` again and again. */
const filled = (before: string, unit: string, after: string): Uint8Array => {
  const room = longest - Buffer.byteLength(before + after)
  const size = Buffer.byteLength(unit)
  const times = Math.floor(room / size)
  return Buffer.from(`${before}${unit.repeat(times)}${after}${" ".repeat(room - times * size)}`)
}

const chat = '{"model":"acme/small","max_tokens":10,"messages":[{"role":"user","content":'
const image = `${chat}[{"type":"text","text":"😀"},{"type":"image_url","image_url":{"url":"data:image/png;base64,`

const bodies: Readonly<Record<string, () => Uint8Array>> = {
  "one token of text": () => Buffer.from(`${chat}"hi"}]}`),
  "ASCII text": () => filled(`${chat}"`, "a", '"}]}'),
  "ASCII text and one emoji": () => filled(`${chat}"😀`, "a", '"}]}'),
  "an image and one emoji": () => filled(image, "AAAA", '"}}]}]}'),
  "escapes of one byte": () => filled(`${chat}"😀`, "\\n", '"}]}'),
  "escapes of six bytes": () => filled(`${chat}"`, "\\u00e9", '"}]}'),
  "escaped emoji": () => filled(`${chat}"`, "\\ud83d\\ude00", '"}]}'),
  "Chinese text": () => filled(`${chat}"`, "中", '"}]}'),
}

const megabytes = (pid: number, name: string): number => {
  const found = new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(readFileSync(`/proc/${pid}/status`, "utf8"))
  return Math.round(Number(found?.[1]) / 1024)
}

const measure = async (body: Uint8Array, refuses: boolean) => {
  let waiting: Array<() => void> = []
  let most = 0
  const host = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    maxRequestBodySize: 512 * mebibyte,
    idleTimeout: 0,
    fetch: async (request) => {
      for await (const _ of request.body ?? []);
      // Another protocol: the request is written once more.
      if (refuses && new URL(request.url).pathname.endsWith("/chat/completions"))
        return new Response("", { status: 503 })
      await new Promise<void>((resolve) => {
        waiting.push(resolve)
        most = Math.max(most, waiting.length)
      })
      if (refuses) {
        return Response.json({
          ...{ id: "1", type: "message", role: "assistant", model: "m", stop_reason: "end_turn", stop_sequence: null },
          ...{ content: [{ type: "text", text: "fine" }], usage: { input_tokens: 1, output_tokens: 1 } },
        })
      }
      const message = { role: "assistant", content: "fine" }
      return Response.json({
        ...{ id: "1", object: "chat.completion", created: 1, model: "m" },
        choices: [{ index: 0, message, finish_reason: "stop" }],
        usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
      })
    },
  })
  const installation = install()
  try {
    const pricing = { prompt: "0.000001", completion: "0.000001" }
    const dearer = { prompt: "0.000002", completion: "0.000002" }
    const architecture = { input_modalities: ["text", "image"] }
    const gateway = installation.start({
      config: {
        discovery: { environment: false, local: false },
        providers: {
          acme: {
            plugin: "openai-compatible",
            base_url: `${host.url}v1`,
            network: "private",
            api_key: "sk-bench-bench",
          },
          later: { plugin: "anthropic", base_url: `${host.url}v1`, network: "private", api_key: "sk-bench-bench" },
        },
        routing: { strategy: "price" },
        models: [
          {
            ...{ id: "acme/small", context_length: 1_000_000_000, architecture },
            hosts: [
              { provider: "acme", model: "small", max_completion_tokens: 1000, pricing },
              { provider: "later", model: "small", max_completion_tokens: 1000, pricing: dearer },
            ],
          },
        ],
      },
    })
    const url = await gateway.url()
    await until(() => gateway.out().includes("curl "), "the keys")
    const management = { authorization: `Bearer ${firstManagementKey(gateway.out())}` }
    const secrets: Array<string> = []
    for (let n = 0; n < keys; n++) {
      const made = await fetch(`${url}/keys`, { method: "POST", headers: management, body: `{"name":"k${n}"}` })
      secrets.push(((await made.json()) as { readonly key: string }).key)
    }
    const before = megabytes(gateway.pid, "VmRSS")
    const statuses: Record<number, number> = {}
    for (let round = 0; round < rounds; round++) {
      let answered = 0
      const asked = secrets.flatMap((secret) =>
        Array.from({ length: bodiesOfKey }, async () => {
          const headers = { authorization: `Bearer ${secret}`, "content-type": "application/json" }
          const response = await fetch(`${url}/chat/completions`, { method: "POST", headers, body })
          const text = await response.text()
          if (response.status !== 200 && statuses[response.status] === undefined) console.error(text.slice(0, 300))
          statuses[response.status] = (statuses[response.status] ?? 0) + 1
          answered += 1
        }),
      )
      await until(() => waiting.length + answered === asked.length, "the host was asked", 120_000)
      for (const resolve of waiting) resolve()
      waiting = []
      await Promise.all(asked)
    }
    const peak = megabytes(gateway.pid, "VmHWM")
    const after = megabytes(gateway.pid, "VmRSS")
    gateway.kill("SIGTERM")
    await gateway.exited
    return { before, peak, after, most, statuses }
  } finally {
    await installation.remove()
    await host.stop(true)
  }
}

console.log("MiB: resident before, at most, and after; bodies at the host at once; answers by status")
for (const [name, make] of Object.entries(bodies)) {
  if (only !== undefined && only !== name) continue
  for (const refuses of [false, true]) {
    const { before, peak, after, most, statuses } = await measure(make(), refuses)
    const how = refuses ? ", after a host that refused" : ""
    console.log(`${name}${how}: ${before}, ${peak}, ${after}; ${most}; ${JSON.stringify(statuses)}`)
  }
}
