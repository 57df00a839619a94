/** Runs docs/getting-started.md, command by command. */
import { afterAll, expect, test } from "bun:test"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { isJsonObject } from "../../src/domain/json/json.ts"
import { until } from "../support/clocks/until.ts"
import { freePort } from "../support/gateways/freePort.ts"
import { GatewayTerminal, notSaid, ReadersTerminal, stepsOf } from "./transcript.ts"
import { vendorProxy } from "./vendorProxy.ts"

const root = resolve(import.meta.dir, "../..")
const page = readFileSync(join(root, "docs/getting-started.md"), "utf8")
const steps = stepsOf(page)

const canClone = existsSync(join(root, ".git")) && Bun.which("bash") !== null && Bun.which("curl") !== null
if (!canClone) console.warn("docs/getting-started.md is not run: it needs a clone, bash and curl")

const folder = mkdtempSync(join(tmpdir(), "headgate-first-hour-"))
const closing: Array<() => unknown> = []
afterAll(async () => {
  for (const close of closing.toReversed()) await close()
  rmSync(folder, { recursive: true, force: true })
})

const origin = join(folder, "origin")

/** Runs commands in this folder; `$git` is git for `origin`, with the files of this folder. */
const shell = (script: string): void => {
  const git = `git --git-dir=${origin} --work-tree=. -c user.name=test -c user.email=test@localhost`
  const { exitCode, stderr } = Bun.spawnSync(["bash", "-ec", `git="${git}"\n${script}`], { cwd: root })
  if (exitCode !== 0) throw new Error(stderr.toString())
}

/**
 * A repository with the files of this one as they are now, for the page to clone. It has no folder of files, and finds the objects of
 * files that have not changed in this repository, which is only read.
 */
const makeOrigin = (): void =>
  shell(`git init -q --bare ${origin}; cp "$(git rev-parse --git-path index)" ${origin}/index
    git rev-parse --path-format=absolute --git-path objects > ${origin}/objects/info/alternates
    $git add -A; $git commit -qm files`)

/** A newer version: another commit. */
const publish = (): void =>
  shell(`news=$( ($git show HEAD:CHANGELOG.md; echo "- news") | $git hash-object -w --stdin)
    $git update-index --cacheinfo 100644,$news,CHANGELOG.md; $git commit -qm news`)

/** The environment of a developer who has no keys of vendors, and this Bun as `bun`. */
const environment = (port: string) => {
  const bin = join(folder, "bin")
  mkdirSync(bin)
  symlinkSync(process.execPath, join(bin, "bun"))
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^HEADGATE_|_KEY$|_TOKEN$|^container$|^INVOCATION_ID$/.test(name),
  )
  return { ...Object.fromEntries(kept), PATH: `${bin}:${process.env["PATH"]}`, HEADGATE_PORT: port }
}

const vendorsKey = "sk-made-up"

/** The vendor: whole answers at once; a stream says a word, and the others at `release`. */
const scriptedVendor = () => {
  /** Streams that have said their first word. */
  const waiting: Array<() => void> = []
  const calls: Array<string> = []
  const usage = { prompt_tokens: 10, completion_tokens: 3, total_tokens: 13 }
  const chunk = (delta: object, finish: string | null) =>
    `data: ${JSON.stringify({ id: "c1", object: "chat.completion.chunk", model: "gpt-4.1-mini", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
  const answer = async (request: Request): Promise<Response> => {
    if (request.headers.get("authorization") !== `Bearer ${vendorsKey}`)
      return Response.json(
        { error: { message: "Incorrect API key provided.", code: "invalid_api_key" } },
        { status: 401 },
      )
    calls.push(new URL(request.url).pathname)
    if (request.method === "GET")
      return Response.json({ object: "list", data: [{ id: "gpt-4.1-mini", object: "model" }] })
    const body: unknown = await request.json()
    if (isJsonObject(body) && body["stream"] === true) {
      const stream = async function* () {
        yield chunk({ role: "assistant", content: "one" }, null)
        await new Promise<void>((resolve) => waiting.push(resolve))
        yield chunk({ content: " two three" }, null)
        yield chunk({}, "stop")
        yield `data: ${JSON.stringify({ id: "c1", object: "chat.completion.chunk", model: "gpt-4.1-mini", choices: [], usage })}\n\ndata: [DONE]\n\n`
      }
      return new Response(stream(), { headers: { "content-type": "text/event-stream" } })
    }
    const message = { role: "assistant", content: "Hello!" }
    return Response.json({
      id: "c1",
      object: "chat.completion",
      model: "gpt-4.1-mini",
      choices: [{ index: 0, message, finish_reason: "stop" }],
      usage,
    })
  }
  const release = () => {
    for (const goOn of waiting.splice(0)) goOn()
  }
  return { answer, calls, release, isStreaming: () => waiting.length > 0 }
}

test.skipIf(!canClone)(
  "the first hour goes as docs/getting-started.md says",
  async () => {
    const port = String(freePort())
    const vendor = scriptedVendor()
    const proxy = await vendorProxy("api.openai.com", vendor.answer)
    closing.push(proxy.stop)
    const authority = join(folder, "authority.pem")
    writeFileSync(authority, proxy.ca)
    const env = environment(port)
    const reader = new ReadersTerminal(folder, join(folder, "bin"), env)
    closing.push(() => reader.close())
    const gateway = new GatewayTerminal(folder, env)
    closing.push(() => gateway.close())

    makeOrigin()
    /** What the page leaves out: the clone's address, and the keys and the hash that were shown last. */
    let secrets: Readonly<Record<string, string>> = {
      "git clone …": `git clone -q ${origin}`,
      "=sk-…": `=${vendorsKey}`,
    }
    const filled = (text: string) =>
      Object.entries(secrets).reduce(
        (result, [gap, value]) => result.replaceAll(gap, value),
        text.replaceAll("8787", port),
      )

    // Not for the first start, which fetches packages.
    let vendors: Readonly<Record<string, string>> = {}
    for (const { isGateway, commands, shown } of steps) {
      const typed = filled(commands)
      expect(typed).not.toContain("…")
      let said: string
      if (isGateway) {
        if (typed.startsWith("# Ctrl-C\n")) {
          gateway.interrupt()
          // A stream goes on when nothing new is accepted any more.
          await until(
            () =>
              fetch(`http://127.0.0.1:${port}/healthz`)
                .then(() => false)
                .catch(() => true),
            "the stop",
          )
          vendor.release()
          await gateway.ended()
        }
        if (typed.includes("git pull")) publish()
        await gateway.run(typed, vendors)
        vendors = { HTTPS_PROXY: proxy.url, NODE_EXTRA_CA_CERTS: authority }
        await until(() => notSaid(filled(shown), gateway.said) === undefined, shown)
        said = gateway.said
      } else said = await reader.run(typed)
      if (typed.includes('"stream": true')) await until(vendor.isStreaming, "the stream")
      expect([commands, said, notSaid(filled(shown), said)]).toEqual([commands, said, undefined])
      for (const [secret = "", kind = ""] of said.matchAll(/\b(sk-gwm?-)[0-9A-Za-z]{49}\b/g))
        secrets = { ...secrets, [`=${kind}…`]: `=${secret}` }
      const [, hash] = /^hash\s+([0-9a-f]{12})/m.exec(said) ?? []
      if (hash !== undefined) secrets = { ...secrets, "keys limit …": `keys limit ${hash}` }
    }
    expect(new Set(vendor.calls)).toEqual(new Set(["/v1/models", "/v1/chat/completions"]))
  },
  1_800_000,
)
