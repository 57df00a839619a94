/** Answers in the playground, as they come. docs/console-views.md#playground */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test"
import { chunkOf, type HeldStream, heldStream } from "../../support/hosts/host.ts"
import { hasBrowser, type Opened, patience, startBrowser, type TestBrowser } from "./browser.ts"
import { type Scene, startScene } from "./scene.ts"

describe.skipIf(!hasBrowser)("in a browser", () => {
  let browser: TestBrowser
  let scene: Scene
  let user: Opened
  let streams: Array<HeldStream>
  beforeAll(async () => {
    const answer = (_: unknown, request: Request) => {
      const stream = heldStream(request)
      streams.push(stream)
      return stream.response
    }
    ;[browser, scene] = await Promise.all([startBrowser(), startScene({ answer })])
  }, patience)
  afterEach(() => user.close())
  afterAll(async () => {
    await browser?.stop()
    await scene?.stop()
  })

  const begin = async () => {
    streams = []
    user = await browser.someone(scene.base)
    await user.signIn(scene.gateway.managementKey)
    await user.open("/playground?model=acme/small")
    await user.fill("Message", "Hello")
  }

  test(
    "an answer is seen while it streams, with its cost at the end, and its key is deleted when one leaves",
    async () => {
      await begin()
      await user.click("Send")
      while (streams.length === 0) await Bun.sleep(10)
      const [stream] = streams
      stream?.send(chunkOf({ delta: { content: "<b>First</b> " }, finish_reason: null }))
      await user.shows("<b>First</b>")
      expect(await user.ask("document.body.innerText.includes('last.')")).toBe(false)
      stream?.send(chunkOf({ delta: { content: "and last." }, finish_reason: null }))
      stream?.send(chunkOf({ delta: {}, finish_reason: "stop" }))
      stream?.send(JSON.stringify({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 5 } }))
      stream?.send("[DONE]")
      stream?.close()
      await user.shows("<b>First</b> and last.")
      await user.shows("$0.00002")
      await user.shows("10 in, 5 out")
      await user.open("/keys")
      await user.page.waitForFunction("!document.body.innerText.includes('playground\\t')")
      user.expectNoFaults()
    },
    patience,
  )

  test(
    "an answer that is stopped says so, and the host is left",
    async () => {
      await begin()
      await user.click("Send")
      while (streams.length === 0) await Bun.sleep(10)
      streams[0]?.send(chunkOf({ delta: { content: "Begun" }, finish_reason: null }))
      await user.shows("Begun")
      await user.click("Stop")
      await user.shows("Stopped: the key is charged")
      await streams[0]?.left
      user.expectNoFaults()
    },
    patience,
  )

  test(
    "the same is copied for elsewhere, without a key in it",
    async () => {
      await begin()
      for (const language of ["curl", "Python", "TypeScript"]) {
        await user.click(language)
        await user.shows(language === "curl" ? "curl " : language === "Python" ? "import " : "const ")
        expect(await user.text(".code-block")).not.toMatch(/sk-gwm?-[0-9A-Za-z]{20}/)
      }
      user.expectNoFaults()
    },
    patience,
  )
})
