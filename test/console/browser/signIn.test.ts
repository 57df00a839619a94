/** Signing in with each kind of key, a session that ends while somebody types, a key that is revoked. docs/console.md */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test"
import { hasBrowser, type Opened, patience, startBrowser, type TestBrowser } from "./browser.ts"
import { callSome, type Scene, startScene } from "./scene.ts"

describe.skipIf(!hasBrowser)("in a browser", () => {
  let browser: TestBrowser
  let scene: Scene
  let user: Opened
  beforeAll(async () => {
    ;[browser, scene] = await Promise.all([startBrowser(), startScene()])
    await callSome(scene)
  }, patience)
  afterEach(() => user.close())
  afterAll(async () => {
    await browser?.stop()
    await scene?.stop()
  })

  test(
    "the management key shows the whole gateway, and signing out ends that",
    async () => {
      user = await browser.someone(scene.base)
      await user.signIn(scene.gateway.managementKey)
      expect(await user.text("main h1")).toBe("Overview")
      expect(await user.text(".who")).toContain("may do everything")
      const stored = await user.ask("[localStorage.length, sessionStorage.length, document.cookie]")
      expect(stored).toEqual([0, 0, ""])
      await user.click("Sign out")
      await user.shows("Sign in to this gateway")
      user.expectNoFaults()
    },
    patience,
  )

  test(
    "an ordinary key shows its own requests, and no view of management",
    async () => {
      user = await browser.someone(scene.base)
      await user.signIn(scene.gateway.key)
      expect(await user.text("main h1")).toBe("My key")
      expect(await user.text("nav")).not.toContain("Keys")
      await user.open("/keys")
      expect(await user.text("main h1")).toBe("Nothing here")
      user.expectNoFaults()
    },
    patience,
  )

  test(
    "a key that is not known is refused in words, and what was typed stays",
    async () => {
      user = await browser.someone(scene.base)
      await user.open("/")
      await (await user.page.waitForSelector("input[name=key]"))?.type("sk-unknown")
      await user.click("Sign in")
      await user.shows("The gateway does not know this key")
      expect(await user.ask("document.querySelector('input[name=key]').value")).toBe("sk-unknown")
      // The browser itself notes that the answer was 401.
      expect(user.faults.filter((fault) => !fault.includes("401"))).toEqual([])
    },
    patience,
  )

  test(
    "a session that ends while somebody types leads to signing in, and back to what was typed",
    async () => {
      user = await browser.someone(scene.base)
      await user.signIn(scene.gateway.managementKey)
      await user.open("/keys/new")
      await user.fill("Name", "typed before the session ended")
      scene.ahead(31 * 60_000)
      await user.click("Make the key")
      await user.shows("Your session has ended")
      await (await user.page.waitForSelector("dialog input[name=key]"))?.type(scene.gateway.managementKey)
      await user.page.keyboard.press("Enter")
      await user.page.waitForFunction("document.querySelector('dialog') === null")
      expect(await user.ask("location.pathname")).toBe("/console/keys/new")
      const kept = await user.ask("[...document.querySelectorAll('input')].map(({ value }) => value)")
      expect(kept).toContain("typed before the session ended")
      await user.click("Make the key")
      await user.shows("is made.")
      expect(user.faults.filter((fault) => !fault.includes("401"))).toEqual([])
    },
    patience,
  )

  test(
    "revoking a key ends the session that it began",
    async () => {
      const secret = await scene.gateway.newKey({ name: "revoked" })
      user = await browser.someone(scene.base)
      await user.signIn(secret)
      const manager = await browser.someone(scene.base)
      await manager.signIn(scene.gateway.managementKey)
      await manager.open("/keys?search=revoked")
      await manager.click("revoked")
      await manager.shows("Do with it")
      await manager.click("Delete")
      await manager.shows("Delete “revoked”?")
      await manager.click("Delete the key")
      await manager.shows("“revoked” is deleted.")
      manager.expectNoFaults()
      await manager.close()
      await user.open("/")
      await user.shows("Sign in to this gateway")
      expect(user.faults.filter((fault) => !fault.includes("401"))).toEqual([])
    },
    patience,
  )
})
