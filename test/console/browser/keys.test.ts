/** Making a key, and the whole of it by keyboard alone. docs/console-views.md#keys */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test"
import { hasBrowser, type Opened, patience, settled, startBrowser, type TestBrowser } from "./browser.ts"
import { type Scene, startScene } from "./scene.ts"

/** What has the focus: whether it shows, and whether it is in the dialog that is open. */
const focused = `(() => {
  const one = document.activeElement
  // The heading of a view has it after a change of views, and is no control.
  if (one === null || one === document.body || one.tagName === "H1") return { name: "", isSeen: true, isInDialog: true }
  const style = getComputedStyle(one)
  return {
    name: (one.labels?.[0]?.textContent ?? one.getAttribute("aria-label") ?? one.textContent).trim(),
    isSeen: (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1) || style.boxShadow !== "none",
    isInDialog: one.closest("dialog") !== null,
  }
})()`

interface Focused {
  readonly name: string
  readonly isSeen: boolean
  readonly isInDialog: boolean
}

/** Presses Tab until what is named so has the focus. Fails where one on the way does not show that it has it. */
const tabTo = async ({ page, ask }: Opened, name: string): Promise<void> => {
  const passed: Array<string> = []
  for (let presses = 0; presses < 60; presses += 1) {
    const now = (await ask(focused)) as Focused
    expect([now.name, now.isSeen]).toEqual([now.name, true])
    if (now.name === name) return
    passed.push(now.name)
    await page.keyboard.press("Tab")
  }
  throw new Error(`${name} does not get the focus, but ${passed.join(", ")}`)
}

describe.skipIf(!hasBrowser)("in a browser", () => {
  let browser: TestBrowser
  let scene: Scene
  let user: Opened
  beforeAll(async () => {
    ;[browser, scene] = await Promise.all([startBrowser(), startScene()])
  }, patience)
  afterEach(() => user.close())
  afterAll(async () => {
    await browser?.stop()
    await scene?.stop()
  })

  test(
    "a key is made with a limit, is shown once, is copied, and works",
    async () => {
      user = await browser.someone(scene.base)
      await user.signIn(scene.gateway.managementKey)
      await user.open("/keys")
      await user.click("New key")
      await user.fill("Name", "alice")
      await user.click("Make the key")
      await user.shows("“alice” is made.")
      const secret = await user.text(".secret code")
      expect(secret).toStartWith("sk-gw-")
      await user.page.click(".secret .copy")
      await user.shows("Copied")
      expect(await user.ask("navigator.clipboard.readText()")).toBe(secret)
      const answer = await scene.gateway.chat(
        { model: "headgate/echo", messages: [{ role: "user", content: "hi" }] },
        { headers: { authorization: `Bearer ${secret}` } },
      )
      expect(answer.status).toBe(200)
      await user.click("Open the key")
      await user.shows("Do with it")
      expect(await user.ask("document.documentElement.outerHTML")).not.toContain(secret)
      expect(await user.ask("location.href")).not.toContain(secret)
      user.expectNoFaults()
    },
    patience,
  )

  test(
    "what is wrong is said beside its field, and what was typed stays",
    async () => {
      user = await browser.someone(scene.base)
      await user.signIn(scene.gateway.managementKey)
      await user.open("/keys/new")
      await user.fill("Limit in USD", "a lot")
      await user.click("Make the key")
      await user.page.waitForSelector("[aria-invalid=true]")
      expect(await user.text(".field-error")).not.toBe("")
      const typed = await user.ask("[...document.querySelectorAll('input')].map(({ value }) => value)")
      expect(typed).toContain("a lot")
      user.expectNoFaults()
    },
    patience,
  )

  test(
    "by keyboard alone one signs in, makes a key and deletes it; dialogs keep the focus and give it back",
    async () => {
      user = await browser.someone(scene.base)
      await user.open("/keys/new")
      const { keyboard } = user.page
      await user.page.waitForSelector("input[name=key]")
      await tabTo(user, "Key")
      await keyboard.type(scene.gateway.managementKey)
      await tabTo(user, "Sign in")
      await keyboard.press("Enter")
      await user.page.waitForSelector("main#content form")
      await settled(user.page)
      await tabTo(user, "Name")
      await keyboard.type("bob")
      await tabTo(user, "Make the key")
      await keyboard.press("Enter")
      await user.shows("“bob” is made.")
      await tabTo(user, "Open the key")
      await keyboard.press("Enter")
      await user.shows("Do with it")
      await settled(user.page)
      await tabTo(user, "Delete")
      await keyboard.press("Enter")
      await user.page.waitForSelector("dialog")
      const within: Array<boolean> = []
      for (let presses = 0; presses < 8; presses += 1) {
        within.push(((await user.ask(focused)) as Focused).isInDialog)
        await keyboard.press("Tab")
      }
      expect(within).not.toContain(false)
      await keyboard.press("Escape")
      await user.page.waitForFunction("document.querySelector('dialog') === null")
      expect(((await user.ask(focused)) as Focused).name).toBe("Delete")
      await keyboard.press("Enter")
      await tabTo(user, "Delete the key")
      await keyboard.press("Enter")
      await user.shows("“bob” is deleted.")
      await user.page.waitForFunction("location.pathname === '/console/keys'")
      user.expectNoFaults()
    },
    patience,
  )
})
