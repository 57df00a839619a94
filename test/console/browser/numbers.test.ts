/** Every number leads to its rows, and their sum is the number, to the last digit. docs/console-views.md#everywhere */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test"
import { parseUsd } from "../../../src/domain/price/money.ts"
import { hasBrowser, type Opened, patience, settled, startBrowser, type TestBrowser } from "./browser.ts"
import { callSome, type Scene, startScene } from "./scene.ts"

const amountOf = (text: string): bigint => {
  const amount = parseUsd(text)
  if (amount === undefined) throw new Error(`${text} is no amount`)
  return amount
}

describe.skipIf(!hasBrowser)("in a browser", () => {
  let browser: TestBrowser
  let scene: Scene
  let user: Opened
  beforeAll(async () => {
    const prices = { prompt: "0.000000123457", completion: "0.000002000001" }
    ;[browser, scene] = await Promise.all([startBrowser(), startScene({ prices })])
    await callSome(scene, 7)
  }, patience)
  afterEach(() => user.close())
  afterAll(async () => {
    await browser?.stop()
    await scene?.stop()
  })

  /** Picodollars in a text such as "$0.000123". */
  const picodollars = (text: string): bigint => amountOf(/\$([0-9.,]+\d)/.exec(text)?.[1]?.replaceAll(",", "") ?? "")

  const titleOf = async (selector: string) =>
    String(await user.ask(`document.querySelector(${JSON.stringify(selector)}).title`))

  /** What the rows of the list cost together. */
  const sumOfRows = async (): Promise<bigint> => {
    await settled(user.page)
    await user.shows("these are all")
    return picodollars(await user.text(".table-foot"))
  }

  test(
    "the spend of the overview is that of its rows, of its key and of the ledger",
    async () => {
      user = await browser.someone(scene.base)
      await user.signIn(scene.gateway.managementKey)
      await user.page.waitForSelector(".tile-value a .number")
      const shown = picodollars(await titleOf(".tile-value a .number"))
      const answer = await scene.gateway.call("/requests", {
        headers: { authorization: `Bearer ${scene.gateway.managementKey}` },
      })
      const { data } = (await answer.json()) as { data: ReadonlyArray<{ exact: { usage: string } }> }
      expect(data.length).toBe(7)
      expect(shown).toBe(data.reduce((sum, { exact }) => sum + amountOf(exact.usage), 0n))
      expect(shown % 1_000_000n).not.toBe(0n)
      await user.page.click(".tile-value a")
      expect(await sumOfRows()).toBe(shown)
      await user.open("/keys?search=test")
      const spent = await user.ask("[...document.querySelectorAll('td a .number')].map(({ title }) => title)")
      expect(picodollars(String(spent))).toBe(shown)
      user.expectNoFaults()
    },
    patience,
  )

  test.each(["model", "provider"])(
    "the spend of a %s leads to its requests, and all of them add up to the whole",
    async (grouping) => {
      user = await browser.someone(scene.base)
      await user.signIn(scene.gateway.managementKey)
      await user.open(`/?by=${grouping}`)
      await user.page.waitForSelector(".table td.is-number a")
      const cells =
        "[...document.querySelectorAll('.table tbody tr')].map((row) => row.querySelector('td.is-number .number').title)"
      const groups = ((await user.ask(cells)) as ReadonlyArray<string>).map(picodollars)
      const whole = picodollars(await titleOf(".tile-value a .number"))
      expect(groups.length).toBe(2)
      expect(groups.reduce((sum, one) => sum + one, 0n)).toBe(whole)
      await user.page.click(".table td.is-number a")
      expect(await sumOfRows()).toBe(groups[0] ?? -1n)
      user.expectNoFaults()
    },
    patience,
  )

  test(
    "the lines of one request's bill add up to its cost",
    async () => {
      user = await browser.someone(scene.base)
      await user.signIn(scene.gateway.managementKey)
      await user.open("/requests?model=acme/small")
      await user.page.click(".table tbody td a")
      await user.shows("Together")
      await settled(user.page)
      const table = await user.ask(
        "[...document.querySelectorAll('.bill tr')].map((row) => row.lastElementChild.innerText)",
      )
      const amounts = (table as ReadonlyArray<string>).filter((text) => text.includes("$")).map(picodollars)
      const total = amounts.pop()
      expect(amounts.length).toBeGreaterThan(1)
      expect(amounts.reduce((sum, one) => sum + one, 0n)).toBe(total ?? -1n)
      user.expectNoFaults()
    },
    patience,
  )
})
