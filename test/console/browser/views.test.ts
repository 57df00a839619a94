/** Every view: at 400 and 1,280 px, light and dark, for axe, and what the first one loads. docs/console-views.md */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import axe from "axe-core"
import { hasBrowser, type Opened, patience, startBrowser, type TestBrowser } from "./browser.ts"
import { callSome, type Scene, startScene } from "./scene.ts"
import { managementViews, ownViews } from "./views.ts"

interface Finding {
  readonly id: string
  readonly nodes: ReadonlyArray<{ readonly html: string; readonly failureSummary?: string }>
}

const themes = [
  ["light", false],
  ["dark", true],
] as const

describe.skipIf(!hasBrowser)("in a browser, every view", () => {
  let browser: TestBrowser
  let scene: Scene
  let views: ReadonlyArray<string>
  beforeAll(async () => {
    ;[browser, scene] = await Promise.all([startBrowser(), startScene()])
    await callSome(scene)
    // One that is refused, and one that no host answers.
    await scene.gateway.chat({ model: "no/such", messages: [{ role: "user", content: "hi" }] })
    views = await managementViews(scene, scene.gateway.key)
  }, patience)
  afterAll(async () => {
    await browser?.stop()
    await scene?.stop()
  })

  /** Both kinds of keys, with the views that they have. */
  const everyView = async (user: Opened, look: (path: string) => Promise<void>): Promise<void> => {
    await user.open("/")
    await look("signing in")
    for (const [key, paths] of [
      [scene.gateway.managementKey, views],
      [scene.gateway.key, ownViews],
    ] as const) {
      await user.signIn(key)
      for (const path of paths) {
        await user.open(path)
        await look(path)
      }
      await user.page.deleteCookie({ name: "headgate", url: scene.base })
    }
  }

  test.each([
    [400, true],
    [1280, false],
  ] as const)(
    "fits %d px (dark: %p), and has a heading, no fault and no word of a failure",
    async (width, isDark) => {
      const user = await browser.someone(scene.base, { width, isDark })
      await everyView(user, async (path) => {
        const over = await user.ask("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        expect([path, over]).toEqual([path, 0])
        expect([path, await user.ask("document.querySelectorAll('h1').length")]).toEqual([path, 1])
        expect([path, await user.ask("document.querySelector('.failed')?.innerText ?? ''")]).toEqual([path, ""])
        const ground = String(await user.ask("getComputedStyle(document.documentElement).backgroundColor"))
        const brightest = Math.max(...(ground.match(/\d+/g) ?? []).slice(0, 3).map(Number))
        expect([path, brightest < 128]).toEqual([path, isDark])
      })
      user.expectNoFaults()
      await user.close()
    },
    patience,
  )

  test.each(themes)(
    "has no finding of axe, %s",
    async (_, isDark) => {
      const user = await browser.someone(scene.base, { isDark, hasNoPolicy: true })
      await everyView(user, async (path) => {
        await user.page.evaluate(axe.source)
        const found = (await user.ask("axe.run().then(({ violations }) => violations)")) as ReadonlyArray<Finding>
        const said = found.map(({ id, nodes }) => `${id}: ${nodes[0]?.html} ${nodes[0]?.failureSummary ?? ""}`)
        expect([path, ...said]).toEqual([path])
      })
      await user.close()
    },
    patience,
  )

  test(
    "the first one, with its charts, loads at most 60 KB of files",
    async () => {
      const user = await browser.someone(scene.base)
      await user.signIn(scene.gateway.managementKey)
      const other = await user.page.browserContext().newPage()
      const session = await other.createCDPSession()
      await session.send("Network.enable")
      await session.send("Network.setCacheDisabled", { cacheDisabled: true })
      const files = new Set<string>()
      session.on("Network.responseReceived", ({ requestId, response }) => {
        if (response.url.startsWith(`${scene.base}/console`)) files.add(requestId)
      })
      let bytes = 0
      session.on("Network.dataReceived", ({ requestId, encodedDataLength }) => {
        if (files.has(requestId)) bytes += encodedDataLength
      })
      await other.goto(`${scene.base}/console`)
      await other.waitForSelector(".uplot, .chart canvas")
      await other.waitForNetworkIdle({ idleTime: 150, concurrency: 0 })
      expect(bytes).toBeGreaterThan(20_000)
      expect(bytes).toBeLessThanOrEqual(60_000)
      await user.close()
    },
    patience,
  )
})
