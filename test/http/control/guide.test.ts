/** The guide, from a made-up build and without one: what is sent, and what is not. docs/architecture.md */
import { afterAll, describe, expect, test } from "bun:test"
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Layer from "effect/Layer"
import { GuideFolder } from "../../../src/http/console/GuideFiles.ts"
import { startGateway } from "../../support/gateways/gateway.ts"

const folder = mkdtempSync(join(tmpdir(), "headgate-guide-"))
afterAll(() => rmSync(folder, { recursive: true }))

const page = '<!doctype html><title>Routing</title><a href="/docs/guide/billing/">billing</a><script>1</script>'
const built = join(folder, "guide/")
mkdirSync(join(built, "routing"), { recursive: true })
mkdirSync(join(built, "pagefind"))
writeFileSync(join(built, "index.html"), "<!doctype html><title>Headgate</title>")
writeFileSync(join(built, "routing/index.html"), page)
writeFileSync(join(built, "routing.md"), "# Routing\n")
writeFileSync(join(built, "llms.txt"), "# Headgate\n")
writeFileSync(join(built, "pagefind/search.wasm"), new Uint8Array([0, 97, 115, 109]))
writeFileSync(join(built, "scripts.json"), '["sha256-abc="]')
writeFileSync(join(folder, "secret.md"), "secret\n")
symlinkSync(join(folder, "secret.md"), join(built, "link.md"))
const markdown = join(folder, "docs/")
mkdirSync(join(markdown, "decisions"), { recursive: true })
writeFileSync(join(markdown, "routing.md"), "# Routing, as it is written\n")
writeFileSync(join(markdown, "decisions/0001-x.md"), "# 1\n")

const running: Array<() => Promise<void>> = []
afterAll(async () => {
  for (const stop of running) await stop()
})

const gatewayOf = async (guide: string) => {
  const gateway = await startGateway({ setting: Layer.succeed(GuideFolder, { guide, markdown }) })
  running.push(gateway.stop)
  const { origin } = new URL(gateway.url)
  return (path: string, headers: Record<string, string> = {}) =>
    fetch(`${origin}${path}`, { headers, redirect: "manual" })
}

const ofBuilt = gatewayOf(built)

describe("a guide that is built", () => {
  test("is served to everybody, pages with a slash at their ends", async () => {
    const get = await ofBuilt
    for (const [path, text, type] of [
      ["/docs/guide/", "<!doctype html><title>Headgate</title>", "text/html; charset=utf-8"],
      ["/docs/guide/routing/", page, "text/html; charset=utf-8"],
      ["/docs/guide/routing.md", "# Routing\n", "text/markdown; charset=utf-8"],
      ["/docs/guide/llms.txt", "# Headgate\n", "text/plain; charset=utf-8"],
    ] as const) {
      const response = await get(path)
      expect([path, response.status, response.headers.get("content-type")]).toEqual([path, 200, type])
      expect(await response.text()).toBe(text)
    }
    expect((await get("/docs/guide/pagefind/search.wasm")).headers.get("content-type")).toBe("application/wasm")
    for (const path of ["/docs/guide", "/docs/guide/routing"]) {
      const led = await get(path)
      expect([led.status, led.headers.get("location")]).toEqual([302, `${path}/`])
    }
  })

  test("allows its own scripts by their hashes, and nothing from elsewhere", async () => {
    const get = await ofBuilt
    const { headers } = await get("/docs/guide/routing/")
    const policy = (headers.get("content-security-policy") ?? "").split("; ")
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("script-src 'self' 'wasm-unsafe-eval' 'sha256-abc='")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(headers.get("x-content-type-options")).toBe("nosniff")
    const again = await get("/docs/guide/routing/", { "if-none-match": headers.get("etag") ?? "" })
    expect([again.status, await again.text()]).toEqual([304, ""])
  })

  test.each([
    "/docs/guide/nothing/",
    "/docs/guide/link.md",
    "/docs/guide/../secret.md",
    "/docs/guide/..%2fsecret.md",
    "/docs/guide/%2e%2e/secret.md",
    "/docs/guide//etc/passwd",
    "/docs/guides",
  ])("%s is 404", async (path) => {
    const get = await ofBuilt
    const response = await get(path)
    expect(response.status).toBe(404)
    expect(await response.text()).not.toContain("secret\n")
  })
})

describe("without a build", () => {
  test("that is whole there is none yet, and what could not be read is read again", async () => {
    const half = join(folder, "half/")
    mkdirSync(join(half, "routing"), { recursive: true })
    writeFileSync(join(half, "index.html"), page)
    writeFileSync(join(half, "routing/index.html"), page)
    const get = await gatewayOf(half)
    const statusOf = async (path: string) => (await get(path)).status
    expect(await (await get("/docs/guide/")).text()).toContain("is not built")
    writeFileSync(join(half, "scripts.json"), "[")
    expect(await statusOf("/docs/guide/")).toBe(500)
    writeFileSync(join(half, "scripts.json"), "[]")
    expect(await statusOf("/docs/guide/")).toBe(200)
    rmSync(join(half, "routing/index.html"))
    expect(await statusOf("/docs/guide/routing/")).toBe(500)
    writeFileSync(join(half, "routing/index.html"), page)
    expect(await statusOf("/docs/guide/routing/")).toBe(200)
  })

  test("there is the list of the Markdown files, and each of them", async () => {
    const get = await gatewayOf(join(folder, "none/"))
    const list = await get("/docs/guide")
    expect(list.status).toBe(200)
    const text = await list.text()
    expect(text).toContain("is not built")
    expect(text).toContain('<a href="/docs/guide/routing.md">')
    // As `docs_url` of an error names a page.
    for (const path of ["/docs/guide/routing.md", "/docs/guide/routing"]) {
      expect(await (await get(path)).text()).toBe("# Routing, as it is written\n")
    }
    for (const path of ["/docs/guide/nothing.md", "/docs/guide/decisions/0001-x.md", "/docs/guide/..%2fx.md"]) {
      expect((await get(path)).status).toBe(404)
    }
  })
})
