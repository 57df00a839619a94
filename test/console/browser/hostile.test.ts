/** Names that others chose are text: no markup in them runs, and no address in them is followed. docs/decisions/0087-the-console.md */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { hasBrowser, type Opened, patience, settled, startBrowser, type TestBrowser } from "./browser.ts"
import { type Scene, startScene } from "./scene.ts"
import { managementViews } from "./views.ts"

const markup = `<img src=x onerror="window.hit=1"><script>window.hit=2</script>`
/** Turns the reading direction, for all that follows. */
const turned = "\u202Eretlif\u2066"

describe.skipIf(!hasBrowser)("in a browser, with hostile names", () => {
  let browser: TestBrowser
  let scene: Scene
  let user: Opened
  let paths: ReadonlyArray<string>
  beforeAll(async () => {
    ;[browser, scene] = await Promise.all([
      startBrowser(),
      startScene({ modelName: markup, answer: () => new Response(markup, { status: 400 }) }),
    ])
    const secret = await scene.gateway.newKey({
      name: `${markup}${turned}`,
      owner: `${markup}`,
      tags: [`"><b>tag`],
    })
    for (const model of ["acme/small", "headgate/echo", "no/such<b>"]) {
      const answer = await scene.gateway.chat(
        { model, messages: [{ role: "user", content: markup }], user: markup },
        {
          headers: {
            authorization: `Bearer ${secret}`,
            "x-title": `${markup} \u00e2\u0080\u00ae`,
            "http-referer": "javascript:window.hit=3",
          },
        },
      )
      await answer.text()
    }
    paths = await managementViews(scene, secret)
    user = await browser.someone(scene.base)
    await user.signIn(scene.gateway.managementKey)
  }, patience)
  afterAll(async () => {
    await browser?.stop()
    await scene?.stop()
  })

  test(
    "no view runs or follows them",
    async () => {
      const seen: Array<string> = []
      for (const path of paths) {
        await user.open(path)
        if (((await user.ask("document.body.innerText")) as string).includes("<img src=x onerror")) seen.push(path)
        const wrong = await user.ask(
          "[window.hit ?? 0, document.querySelectorAll('main img, main script, main b').length, document.querySelectorAll(\"a[href^='javascript' i], a[href^='data' i]\").length]",
        )
        expect([path, wrong]).toEqual([path, [0, 0, 0]])
      }
      // The overview by key and by app, the list of keys, the key, the models: they do show them.
      expect(seen.length).toBeGreaterThan(4)
      user.expectNoFaults()
    },
    patience,
  )

  test(
    "a key with such a name is deleted like any other, and the question says its name",
    async () => {
      await user.open("/keys?search=onerror")
      await user.page.click(".table tbody td a")
      await user.shows("Do with it")
      await settled(user.page)
      await user.click("Delete")
      expect(await user.text("dialog h2")).toContain(`Delete “${markup}`)
      await user.click("Delete the key")
      await user.shows("is deleted.")
      expect(await user.ask("window.hit ?? 0")).toBe(0)
      user.expectNoFaults()
    },
    patience,
  )
})
