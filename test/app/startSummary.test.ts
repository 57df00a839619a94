/** What a gateway says of itself. */
import { describe, expect, test } from "bun:test"
import { stopLine } from "../../src/app/Ending.ts"
import { type StartFacts, summaryOf, writtenSummary } from "../../src/app/start/startSummary.ts"

const facts: StartFacts = {
  versions: "0.1.0, Bun 1.4.5",
  address: "http://127.0.0.1:8787/api/v1",
  workers: 1,
  file: "/srv/headgate.config.ts",
  folder: "/srv",
  data: "/srv/data/headgate.db",
  providers: {
    on: [
      { slug: "echo", key: "none needed", lacksKey: false },
      { slug: "groq", key: "none: GROQ_API_KEY is not set", lacksKey: true },
    ],
    off: [
      { slug: "openai", why: "disabled in the configuration" },
      { slug: "acme", why: "import: it says\n\u001b[31mno" },
    ],
    others: 29,
  },
  models: 12,
  hosts: 14,
  prices: { prompt: ["0", "2.5"], completion: ["0", "10"] },
  strategy: "balanced",
  strategies: ["balanced", "price"],
  warnings: ["1, in the log above"],
}

const inPipe = { isTerminal: false, hasColour: false }

test("in a pipe each line stands for itself, without control characters", () => {
  expect(writtenSummary(summaryOf(facts), inPipe)).toBe(`version: 0.1.0, Bun 1.4.5
address: http://127.0.0.1:8787/api/v1
configuration: /srv/headgate.config.ts
data: /srv/data/headgate.db
providers: echo, groq (2 on; nothing is set for 29 more)
no key: groq: none: GROQ_API_KEY is not set
off: openai: disabled in the configuration
off: acme: import: it says [31mno
models: 12 at 14 hosts; USD per million tokens: 0 to 2.5 of the prompt, 0 to 10 of the output
strategy: balanced; requests may ask for price
warning: 1, in the log above
`)
})

test("in a terminal names are a column, in colour where somebody should look", () => {
  const lines = summaryOf({ ...facts, prices: null, warnings: [] })
  expect(writtenSummary(lines, { isTerminal: true, hasColour: false })).toBe(`  version        0.1.0, Bun 1.4.5
  address        http://127.0.0.1:8787/api/v1
  configuration  /srv/headgate.config.ts
  data           /srv/data/headgate.db
  providers      echo, groq (2 on; nothing is set for 29 more)
  no key         groq: none: GROQ_API_KEY is not set
  off            openai: disabled in the configuration
                 acme: import: it says [31mno
  models         12 at 14 hosts
  strategy       balanced; requests may ask for price
`)
  const coloured = writtenSummary(lines, { isTerminal: true, hasColour: true })
  expect(coloured).toContain("\u001b[33moff            \u001b[0mopenai")
  expect(Bun.stripANSI(coloured)).toBe(writtenSummary(lines, { isTerminal: true, hasColour: false }))
})

test("without a file, with workers, and with one price", () => {
  const written = writtenSummary(
    summaryOf({ ...facts, file: null, workers: 4, prices: { prompt: ["1", "1"], completion: ["2", "2"] } }),
    inPipe,
  )
  expect(written).toContain("address: http://127.0.0.1:8787/api/v1, 4 workers\n")
  expect(written).toContain("configuration: no file in /srv\n")
  expect(written).toContain("; USD per million tokens: 1 of the prompt, 2 of the output\n")
})

describe("the line at a stop", () => {
  test.each([
    [{ running: 0, cut: 0 }, "no request was running"],
    [{ running: 1, cut: 0 }, "1 request ended by itself, 0 were cut off"],
    [{ running: 5, cut: 1 }, "4 requests ended by themselves, 1 was cut off"],
  ])("%j", (drained, said) => {
    expect(stopLine({ why: "SIGTERM", tookMs: 2149, ...drained })).toBe(
      `headgate stopped: SIGTERM; ${said}; it took 2.1 s`,
    )
  })
})
