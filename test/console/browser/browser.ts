/**
 * Debian's Chromium, which opens the console of a gateway. What must not happen in any test is noted for each page: errors in the
 * browser's console, errors that a script throws, reports of the page's policy, requests to another host.
 */
import { expect, test } from "bun:test"
import puppeteer, {
  type Browser,
  type BrowserContext,
  type ElementHandle,
  type JSHandle,
  type Page,
} from "puppeteer-core"
import { buildConsole, canBuild } from "../../../scripts/console.ts"

const chromium = Bun.which("chromium")

/** Whether the tests of this folder can run: Chromium is installed, and so are the packages that the console is made of. */
export const hasBrowser = chromium !== null && canBuild()

if (chromium === null) test.skip("the console in a browser: Chromium is not installed", () => {})

/** Milliseconds that one test may take on a busy machine. */
export const patience = 1_800_000

/** Milliseconds in which what a page was asked for has to be there, on a busy machine. */
const wait = 600_000
/** Milliseconds after which a step is looked at again. */
const lookAgain = 30_000
/** Milliseconds that a page has to be idle. Puppeteer may lose the end of a request, and then counts it for ever. */
const idleWait = 5000

export interface Look {
  readonly width?: number
  readonly isDark?: boolean
  /** Lets scripts of the test into the page, for axe. What the page's own policy reports is not seen then. */
  readonly hasNoPolicy?: boolean
}

export interface Opened {
  readonly page: Page
  /** What must not happen, and did. */
  readonly faults: ReadonlyArray<string>
  /** Opens a view by its path below `/console`, and waits until nothing is asked for. */
  readonly open: (path: string) => Promise<void>
  /** Opens the console, and signs in. */
  readonly signIn: (key: string) => Promise<void>
  /** The text that is seen of the first element, once there is one. */
  readonly text: (selector: string) => Promise<string>
  /** Waits until the page shows these words. */
  readonly shows: (words: string) => Promise<void>
  /** Clicks on the button or the link with this text. */
  readonly click: (text: string) => Promise<void>
  /** Types into the field with this label, in place of what is there. */
  readonly fill: (label: string, text: string) => Promise<void>
  /** The value of an expression in the page. */
  readonly ask: (expression: string) => Promise<unknown>
  /** Fails when something happened that must not. */
  readonly expectNoFaults: () => void
  readonly close: () => Promise<void>
}

export interface TestBrowser {
  /** A browser of somebody else: no cookie, no cache. `base`: `http://127.0.0.1:<port>`. */
  readonly someone: (base: string, look?: Look) => Promise<Opened>
  readonly stop: () => Promise<void>
}

export const startBrowser = async (): Promise<TestBrowser> => {
  await buildConsole()
  const browser = await puppeteer.launch({
    executablePath: chromium ?? "",
    headless: true,
    // As root, Chromium has no sandbox. The others keep it from asking its maker for anything.
    args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync", "--no-first-run"],
  })
  return {
    someone: async (base, look = {}) => opened(await browser.createBrowserContext(), base, look),
    stop: () => stop(browser),
  }
}

const stop = async (browser: Browser): Promise<void> => {
  await browser.close()
}

/**
 * Functions that run in the page, as text: the project's types are those of a program without a document. `clickable`: what is seen
 * and has this text, buttons before links, in the dialog where one is open.
 */
const clickable = `(text) => {
  const within = document.querySelector("dialog") ?? document
  const all = [...within.querySelectorAll("button:not(:disabled)"), ...within.querySelectorAll("a")].filter(
    (one) => one.getClientRects().length > 0,
  )
  const textOf = (one) => (one.textContent ?? "").trim()
  return all.find((one) => textOf(one) === text) ?? all.find((one) => textOf(one).startsWith(text))
}`

/** The field that a label names. */
const labelled = `(text) => {
  const label = [...document.querySelectorAll("label")].find((one) => one.textContent.trim() === text)
  return label === undefined ? undefined : document.getElementById(label.htmlFor)
}`

/** Notes violations of the policy where they happen: not all of them are told to the browser's console. */
const noteViolations = `document.addEventListener("securitypolicyviolation", (event) => {
  console.error("policy: " + event.violatedDirective + " " + event.blockedURI + " " + event.sample)
})`

const noteFaults = (page: Page, base: string): ReadonlyArray<string> => {
  const faults: Array<string> = []
  page.on("console", (message) => {
    const type = message.type()
    if (type === "error" || type === "warn") faults.push(`${type}: ${message.text()} ${message.location().url ?? ""}`)
  })
  page.on("pageerror", (error) => faults.push(`thrown: ${String(error)}`))
  page.on("dialog", (dialog) => {
    faults.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on("request", (request) => {
    const url = request.url()
    if (!url.startsWith(`${base}/`) && !url.startsWith("data:") && !url.startsWith("blob:")) faults.push(`to ${url}`)
  })
  return faults
}

const opened = async (context: BrowserContext, base: string, look: Look): Promise<Opened> => {
  const { width = 1280, isDark = false, hasNoPolicy = false } = look
  await context.overridePermissions(base, ["clipboard-read", "clipboard-sanitized-write"])
  const page = await context.newPage()
  page.setDefaultTimeout(wait)
  await page.bringToFront()
  const faults = noteFaults(page, base)
  if (hasNoPolicy) await page.setBypassCSP(true)
  else await page.evaluateOnNewDocument(noteViolations)
  await page.setViewport({ width, height: 900 })
  await page.emulateMediaFeatures([
    { name: "prefers-color-scheme", value: isDark ? "dark" : "light" },
    { name: "prefers-reduced-motion", value: "reduce" },
  ])
  const open = async (path: string) => {
    await page.goto(`${base}/console${path}`, { waitUntil: "load" })
    await settled(page)
  }
  const shows = async (words: string) => {
    await page.waitForFunction(`document.body.innerText.includes(${JSON.stringify(words)})`)
  }
  return {
    page,
    faults,
    open,
    shows,
    signIn: async (key) => {
      await open("/")
      // On a busy machine the page may be drawn again while the key is typed.
      for (;;) {
        await page.waitForSelector("main#content h1, input[name=key]")
        if ((await page.$("main#content h1")) !== null) break
        await (await page.$("input[name=key]"))?.click({ count: 3 })
        await page.keyboard.type(key)
        await page.keyboard.press("Enter")
        await page.waitForSelector("main#content h1", { timeout: lookAgain }).catch(() => undefined)
      }
      await settled(page)
    },
    text: async (selector) => {
      await page.waitForSelector(selector)
      return String(await page.evaluate(`document.querySelector(${JSON.stringify(selector)}).innerText`))
    },
    click: async (text) => {
      const found = await page.waitForFunction(`(${clickable})(${JSON.stringify(text)})`)
      await elementOf(found).click()
    },
    fill: async (label, text) => {
      const field = elementOf(await page.waitForFunction(`(${labelled})(${JSON.stringify(label)})`))
      await field.click({ count: 3 })
      await field.type(text)
    },
    ask: (expression) => page.evaluate(expression),
    expectNoFaults: () => expect(faults).toEqual([]),
    close: () => context.close(),
  }
}

/** Waits until nothing has been asked for in a while, and no part of the page says that it waits. */
export const settled = async (page: Page): Promise<void> => {
  // A page that asks at intervals may never be idle on a busy machine. Then what it shows decides.
  await page.waitForNetworkIdle({ idleTime: 150, concurrency: 0, timeout: idleWait }).catch(() => undefined)
  await page.waitForFunction(`document.querySelector(".waiting, [aria-busy=true]") === null`)
}

// What a function in the page returns has no type: it waited until this is an element.
const elementOf = (found: JSHandle): ElementHandle => found.asElement() as ElementHandle
