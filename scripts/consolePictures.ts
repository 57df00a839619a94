/**
 * Pictures of every view of the console, light and dark, at 1,280 and 400 px, over a year of made-up requests; four of them become those
 * of the docs (docs/pictures). Needs Chromium.
 *
 *     bun scripts/consolePictures.ts [FOLDER] [ROWS]     # by default /tmp/headgate-pictures and 300,000
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as SqliteStorage from "../src/sql/sqlite/SqliteStorage.ts"
import { hasBrowser, type Opened, startBrowser } from "../test/console/browser/browser.ts"
import { fillYear, yearModels } from "../test/support/console/year.ts"
import { startGateway } from "../test/support/gateways/gateway.ts"
import { heldStream, scriptedHost, streamAnswer, wholeAnswer } from "../test/support/hosts/host.ts"

const folder = process.argv[2] ?? join(tmpdir(), "headgate-pictures")
const rows = Number(process.argv[3] ?? 300_000)
const docs = new URL("../docs/pictures/", import.meta.url).pathname

if (!hasBrowser) throw new Error("Chromium is needed, and the packages of development.")

const say = (text: string): void => {
  process.stderr.write(`${text}\n`)
}

const text = "The parcel left our warehouse this morning, and is expected tomorrow before noon."
const usage = { prompt_tokens: 1432, completion_tokens: 118, prompt_tokens_details: { cached_tokens: 896 } }

/** Takes its time, fails at some, so that the requests have a story to tell; keeps requests open that ask for it. */
const host = scriptedHost(async (body, request) => {
  await Bun.sleep(240)
  const wants = JSON.stringify(body["messages"])
  if (wants.includes("stay open")) return heldStream(request).response
  if (wants.includes("second host") && request.url.includes("/openai/"))
    return Response.json({ error: { message: "overloaded" } }, { status: 503 })
  return body["stream"] === true ? streamAnswer(text.split(/(?<= )/), usage) : wholeAnswer(text, usage)
})

const names = {
  ...{
    openai: "OpenAI",
    azure: "Azure",
    anthropic: "Anthropic",
    bedrock: "Amazon Bedrock",
    google: "Google AI Studio",
  },
  ...{ groq: "Groq", together: "Together", mistral: "Mistral" },
}

const config = {
  providers: {
    ...Object.fromEntries(
      Object.entries(names).map(([slug, name]) => [
        slug,
        {
          ...{ plugin: "openai-compatible", name, base_url: host.url.replace("/v1", `/${slug}/v1`) },
          ...{ network: "private" as const, api_key: "k" },
        },
      ]),
    ),
    echo: { plugin: "echo" },
  },
  models: yearModels.map(({ id, prompt, completion, hosts }) => ({
    ...{ id, name: id.split("/")[1] ?? id, created: 1_760_000_000, context_length: 400_000 },
    hosts: hosts.map((provider) => ({
      ...{ provider, model: "upstream", max_completion_tokens: 64_000 },
      pricing: { prompt, completion, input_cache_read: prompt.replace(/[1-9]/, "0") },
    })),
  })),
}

const temporary = mkdtempSync(join(tmpdir(), "headgate-year-"))
mkdirSync(folder, { recursive: true })
mkdirSync(docs, { recursive: true })
const gateway = await startGateway({
  config,
  storage: SqliteStorage.layer({ path: join(temporary, "headgate.db"), durability: "process" }),
})
const base = new URL(gateway.url).origin

const started = performance.now()
const secrets = await gateway.run(fillYear({ now: Date.now(), rows }))
say(`${rows} rows in ${((performance.now() - started) / 1000).toFixed(1)} s`)

const ask = (key: string, model: string, content: string, more: object = {}) =>
  gateway.chat(
    { model, messages: [{ role: "user", content }], ...more },
    { headers: { authorization: `Bearer ${secrets.get(key) ?? ""}`, "x-title": "Support desk" } },
  )
for (let count = 0; count < 12; count += 1) {
  const model = yearModels[count % yearModels.length]?.id ?? ""
  await (await ask("support-bot", model, "Where is my parcel?", { stream: count % 2 === 0 })).text()
}
const shown = await ask("support-bot", "openai/gpt-5-mini", "Ask the second host.", {
  provider: { order: ["openai", "azure"] },
})
const { id: generation } = (await shown.json()) as { readonly id: string }
await (await ask("support-bot", "no/such-model", "hi")).text()
const stop = new AbortController()
for (const [key, model] of [
  ["support-bot", "openai/gpt-5-mini"],
  ["coding agents", "anthropic/claude-sonnet-5"],
  ["search", "google/gemini-3-flash"],
] as const) {
  void fetch(`${gateway.url}/chat/completions`, {
    method: "POST",
    body: JSON.stringify({ model, messages: [{ role: "user", content: "stay open" }], stream: true }),
    headers: { authorization: `Bearer ${secrets.get(key) ?? ""}`, "content-type": "application/json" },
    signal: stop.signal,
  }).catch(() => {})
}

const asManager = { headers: { authorization: `Bearer ${gateway.managementKey}` } }
const found = (await (await gateway.call(`/generation?id=${generation}`, asManager)).json()) as {
  readonly data: { readonly request_id: string }
}
const keys = (await (await gateway.call("/keys?search=support-bot", asManager)).json()) as {
  readonly data: ReadonlyArray<{ readonly hash: string }>
}

const one = `/requests/${found.data.request_id}`
const views: ReadonlyArray<readonly [name: string, path: string]> = [
  ["overview", "/?range=month"],
  ["overview-day", "/"],
  ["overview-keys", "/?range=month&by=key"],
  ["live", "/live"],
  ["requests", "/requests"],
  ["request", one],
  ["keys", "/keys"],
  ["key", `/keys/${keys.data[0]?.hash ?? ""}`],
  ["key-new", "/keys/new"],
  ["models", "/models"],
  ["model", "/models/openai/gpt-5-mini"],
  ["providers", "/providers"],
  ["explain", "/explain"],
  ["playground", "/playground?model=openai/gpt-5-mini"],
  ["start", "/start"],
]
const own: typeof views = [
  ["own", "/?range=month"],
  ["own-requests", "/requests"],
]

/** Those of the docs: light, at 1,280 px. */
const inDocs = ["overview", "requests", "request", "keys"]

const browser = await startBrowser()

const takeAll = async (user: Opened, which: typeof views, suffix: string) => {
  for (const [name, path] of which) {
    await user.open(path)
    if (name === "explain") {
      await user.fill("Model", "openai/gpt-5-mini")
      await user.click("Explain")
      await Bun.sleep(1500)
    }
    if (name === "playground") {
      await user.fill("Message", "Where is my parcel?")
      await user.click("Send")
      await user.shows("before noon")
    }
    await Bun.sleep(300)
    await user.page.screenshot({ path: join(folder, `${name}${suffix}.png`), fullPage: true })
    if (inDocs.includes(name) && suffix === "-1280-light")
      await user.page.screenshot({ path: join(docs, `${name}.webp`), type: "webp", quality: 80 })
  }
}

for (const width of [1280, 400]) {
  for (const isDark of [false, true]) {
    const suffix = `-${width}-${isDark ? "dark" : "light"}`
    for (const [key, which] of [
      [gateway.managementKey, views],
      [secrets.get("support-bot") ?? "", own],
    ] as const) {
      const user = await browser.someone(base, { width, isDark })
      if (which === views) {
        await user.open("/")
        await user.page.screenshot({ path: join(folder, `sign-in${suffix}.png`), fullPage: true })
      }
      await user.signIn(key)
      await takeAll(user, which, suffix)
      for (const fault of user.faults) say(`${suffix}: ${fault}`)
      await user.close()
    }
    say(`taken: ${suffix}`)
  }
}
stop.abort()
await browser.stop()
await gateway.stop()
await host.stop()
rmSync(temporary, { recursive: true, force: true })
