/** The console's files, from a made-up folder: what is sent, to whom, and what is not. docs/console.md */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { brotliCompressSync, brotliDecompressSync, gunzipSync } from "node:zlib"
import * as Layer from "effect/Layer"
import { ConsoleFolder, readConsole } from "../../../src/http/console/ConsoleFiles.ts"
import { type ControlPlane, expectError, startControlPlane } from "../../support/gateways/control.ts"
import { gatewayWithoutSocket, startGateway } from "../../support/gateways/gateway.ts"

const folder = mkdtempSync(join(tmpdir(), "headgate-console-"))
afterAll(() => rmSync(folder, { recursive: true }))

const page = `<!doctype html><title>Console</title><script type="module" src="/console/assets/app-1f2e.js"></script>${" ".repeat(500)}`
const script = `const text = "${"so long that it becomes smaller ".repeat(50)}"`
const font = new Uint8Array([1, 2, 3])
const built = join(folder, "built")
mkdirSync(join(built, "assets"), { recursive: true })
writeFileSync(join(built, "index.html"), page)
writeFileSync(join(built, "assets/app-1f2e.js"), script)
writeFileSync(join(built, "assets/app-1f2e.js.br"), brotliCompressSync(script))
writeFileSync(join(built, "assets/text-9a.woff2"), font)
writeFileSync(join(built, "assets/app-1f2e.js.map"), "{}")
writeFileSync(join(folder, "secret.txt"), "secret")
writeFileSync(join(folder, "secret.js"), "secret")
symlinkSync(join(folder, "secret.js"), join(built, "assets/link-1.js"))

let gateway: ControlPlane
beforeAll(async () => {
  gateway = await startControlPlane({ consoleFolder: built })
})
afterAll(() => gateway.close())

const get = (path: string, headers: Record<string, string> = {}) => gateway.send(path, { headers })

describe("the page", () => {
  test.each(["/console", "/console/", "/console/keys", "/console/requests/req_1?from=x", "/console/index.html"])(
    "is at %s, for everybody",
    async (path) => {
      const response = await get(path)
      expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"])
      expect(response.headers.get("cache-control")).toBe("no-cache")
      expect(await response.text()).toBe(page)
    },
  )

  test("allows nothing from elsewhere, nothing inline, and no frame", async () => {
    const { headers } = await get("/console")
    const policy = headers.get("content-security-policy") ?? ""
    const wanted = ["default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"]
    for (const each of [...wanted, "require-trusted-types-for 'script'", "base-uri 'none'"]) {
      expect(policy.split("; ")).toContain(each)
    }
    expect(policy).not.toContain("unsafe")
    expect(headers.get("x-content-type-options")).toBe("nosniff")
    expect(headers.get("referrer-policy")).toBe("no-referrer")
    expect(headers.get("access-control-allow-origin")).toBeNull()
  })

  test("is not sent again to whoever has it", async () => {
    const first = await get("/console")
    const again = await get("/console", { "if-none-match": `"other", W/${first.headers.get("etag")}` })
    expect([again.status, await again.text()]).toEqual([304, ""])
    expect((await get("/console", { "if-none-match": '"other"' })).status).toBe(200)
  })
})

describe("a file", () => {
  test("with a hash in its name is kept for ever", async () => {
    const response = await get("/console/assets/app-1f2e.js")
    expect(response.headers.get("content-type")).toBe("text/javascript; charset=utf-8")
    expect(response.headers.get("cache-control")).toBe("public, max-age=31536000, immutable")
    expect(await response.text()).toBe(script)
    const font = await get("/console/assets/text-9a.woff2", { "accept-encoding": "br" })
    expect([font.headers.get("content-type"), font.headers.get("content-encoding")]).toEqual(["font/woff2", null])
  })

  test.each<readonly [accepted: string, encoding: string | null]>([
    ["gzip, deflate, br, zstd", "br"],
    ["gzip", "gzip"],
    ["br;q=0, gzip;q=0.5", "gzip"],
    ["identity", null],
    ["", null],
  ])("is compressed as the browser takes it: %p", async (accepted, encoding) => {
    const response = await get("/console/assets/app-1f2e.js", { "accept-encoding": accepted })
    expect(response.headers.get("content-encoding")).toBe(encoding)
    expect(response.headers.get("vary")).toBe("Accept-Encoding")
    const bytes = new Uint8Array(await response.arrayBuffer())
    const read = { br: brotliDecompressSync, gzip: gunzipSync, none: (same: Uint8Array) => same }
    expect(new TextDecoder().decode(read[encoding === "br" || encoding === "gzip" ? encoding : "none"](bytes))).toBe(
      script,
    )
  })

  test.each([
    "/console/assets/other.js",
    "/console/assets/",
    "/console/assets/app-1f2e.js.map",
    "/console/assets/app-1f2e.js.br",
    "/console/assets/link-1.js",
    "/console/assets/..%2f..%2fsecret.js",
    "/console/assets/%2e%2e/%2e%2e/%2e%2e/secret.txt",
    "/console/assets/..%5c..%5csecret.txt",
    "/console/assets//etc/passwd",
    "/console/assets/app-1f2e.js/",
  ])("%s is none", async (path) => {
    const response = await get(path)
    const text = await response.text()
    expect(text).not.toContain("secret")
    expect(response.status).toBe(404)
  })

  test("below another spelling of /console is none", async () => {
    for (const path of ["/Console", "/console%2findex.html", "//console", "/consoles"]) {
      expect([path, (await get(path)).status]).toEqual([path, 404])
    }
  })
})

test("/ leads a browser to the console, and tells a program where the API is", async () => {
  const browser = await get("/", { accept: "text/html,application/xhtml+xml" })
  expect([browser.status, browser.headers.get("location")]).toEqual([302, "/console"])
  const error = await expectError(await get("/", { accept: "*/*" }), 404)
  expect(error.message).toContain("/api/v1")
})

test("a console that is not built says how to build it, and is there once it is built", async () => {
  const later = join(folder, "later")
  const control = await startControlPlane({ consoleFolder: later })
  const before = await control.send("/console/keys")
  expect([before.status, before.headers.get("content-type")]).toEqual([404, "text/html; charset=utf-8"])
  expect(await before.text()).toContain("bun scripts/console.ts")
  mkdirSync(later)
  writeFileSync(join(later, "index.html"), page)
  expect((await control.send("/console/keys")).status).toBe(200)
  await control.close()
})

test("server.console: false leaves it out", async () => {
  const control = await startControlPlane({ consoleFolder: built, control: { console: false } })
  for (const path of ["/console", "/console/assets/app-1f2e.js", "/"]) {
    await expectError(await control.send(path, { headers: { accept: "text/html" } }), 404)
  }
  await control.close()
})

describe("in the whole gateway", () => {
  const setting = Layer.succeed(ConsoleFolder, built)

  test("a process of its own has it, at / too", async () => {
    const whole = await startGateway({ setting })
    const origin = whole.url.replace("/api/v1", "")
    const led = await fetch(`${origin}/`, { headers: { accept: "text/html" } })
    expect([led.url, await led.text()]).toEqual([`${origin}/console`, page])
    const head = await fetch(`${origin}/console`, { method: "HEAD" })
    expect([head.status, await head.text()]).toEqual([200, ""])
    await whole.stop()
  })

  test("an app around it has it, and / is the app's", async () => {
    const whole = await gatewayWithoutSocket({ setting })
    const html = { headers: { accept: "text/html" } }
    expect((await whole.call("/../../console", html)).status).toBe(200)
    expect((await whole.call("/../../", html)).status).toBe(404)
    await whole.stop()
  })

  test("below a prefix the page names its files there, compressed too", async () => {
    const files = await readConsole(built, "/llm/console/")
    const index = files?.get("index.html")
    const text = new TextDecoder().decode(index?.content)
    expect(text).toContain('src="/llm/console/assets/app-1f2e.js"')
    expect(new TextDecoder().decode(brotliDecompressSync(index?.compressed.get("br") ?? new Uint8Array()))).toBe(text)
  })

  test("server.console: false of the configuration leaves it out", async () => {
    const whole = await startGateway({ setting, config: { server: { console: false } } })
    expect((await fetch(whole.url.replace("/api/v1", "/console"))).status).toBe(404)
    await whole.stop()
  })
})
