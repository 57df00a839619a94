/** The page that shows the API's description. */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { type ControlPlane, startControlPlane } from "../../support/gateways/control.ts"

let gateway: ControlPlane
beforeAll(async () => {
  gateway = await startControlPlane()
})
afterAll(() => gateway.close())

test("the page has everything in itself, and may load nothing from elsewhere", async () => {
  const response = await gateway.send("/docs")
  expect(response.status).toBe(200)
  expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8")
  const policy = response.headers.get("content-security-policy") ?? ""
  expect(policy).toStartWith("default-src 'none'; script-src 'sha256-")
  expect(policy).not.toContain("http")
  const html = await response.text()
  const loaded: Array<string> = []
  let code = ""
  await new HTMLRewriter()
    .on("[src], link, iframe, img", { element: ({ tagName }) => void loaded.push(tagName) })
    .on("script:not([type])", {
      text: (chunk) => {
        code += chunk.text
        if (!chunk.lastInTextNode) return
        expect(policy).toContain(`'sha256-${new Bun.CryptoHasher("sha256").update(code).digest("base64")}'`)
        code = ""
      },
    })
    .transform(new Response(html))
    .text()
  expect(loaded).toEqual([])
  expect(html).toContain('"/api/v1/models/count"')
})
