/**
 * The questions and answers of `docs/routing.md`, asked again. Each section has a gateway of its own. After a change that is
 * meant, `HEADGATE_WRITE_DOCS=1 bun test test/docs/routing.test.ts` writes the answers into the page.
 */
import { describe, expect, test } from "bun:test"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Layer from "effect/Layer"
import type { GatewayConfigInput } from "../../src/config/GatewayConfig.ts"
import { Upstream } from "../../src/upstream/Upstream.ts"
import { ManualClock } from "../support/clocks/manualClock.ts"
import { gatewayWithoutSocket } from "../support/gateways/gateway.ts"
import { good, status } from "../support/gateways/routed.ts"

const path = join(import.meta.dir, "../../docs/routing.md")
const page = readFileSync(path, "utf8")

interface Block {
  /** What stands behind the language of the block. */
  readonly info: string
  readonly text: string
  readonly section: string
}

const blocksOf = (text: string): ReadonlyArray<Block> =>
  text.split(/^### /m).flatMap((part) => {
    const section = part.split("\n", 1)[0] ?? ""
    return [...part.matchAll(/^```json (.+)\n([\s\S]*?)^```$/gm)].map(([, info = "", body = ""]) => ({
      info,
      text: body,
      section,
    }))
  })

const blocks = blocksOf(page)
const sections = [...new Set(blocks.map(({ section }) => section))].slice(1)
const config = JSON.parse(
  blocks.find(({ info }) => info === "headgate.config.json")?.text ?? "null",
) as GatewayConfigInput

const question = /^POST \/api\/v1(?<route>\S+)(?: while (?<host>\w+) answers (?<status>\d+))?$/

/** The parts of the answers that the page shows, in the order of the page. */
const answersOf = async (section: string): Promise<ReadonlyArray<unknown>> => {
  let faults: Readonly<Record<string, number>> = {}
  const gateway = await gatewayWithoutSocket({
    config,
    upstream: Upstream.layerFrom(async (call) => {
      const code = faults[new URL(call.url).hostname.replace(".example", "")]
      const body = (await call.clone().json()) as Record<string, unknown>
      return (code === undefined ? good() : status(code))(body, call, 1)
    }),
    setting: Layer.setClock(new ManualClock()),
  })
  const shown: Array<unknown> = []
  let answer: Readonly<Record<string, unknown>> = {}
  for (const { info, text } of blocks.filter((block) => block.section === section)) {
    const asked = question.exec(info)?.groups
    if (asked === undefined) {
      shown.push(answer[info.replace("answer: ", "")])
      continue
    }
    const { route = "", host, status: code } = asked
    faults = host === undefined ? {} : { [host]: Number(code) }
    const response = await gateway.call(route, {
      method: "POST",
      body: text,
      headers: { "content-type": "application/json", "x-openrouter-metadata": "enabled" },
    })
    expect(response.status).toBe(200)
    answer = (await response.json()) as Record<string, unknown>
  }
  await gateway.stop()
  return shown
}

const answers = ({ info }: Block): boolean => info.startsWith("answer: ")

/** JSON with objects and lists in one line where they fit. */
const written = (value: unknown, indent = ""): string => {
  const line = JSON.stringify(value, null, 1).replace(/\n\s*/g, " ").replaceAll("[ ", "[").replaceAll(" ]", "]")
  if (typeof value !== "object" || value === null || indent.length + line.length <= 120) return line
  const inner = `${indent}  `
  const members = Array.isArray(value)
    ? value.map((one) => inner + written(one, inner))
    : Object.entries(value).map(([name, one]) => `${inner}${JSON.stringify(name)}: ${written(one, inner)}`)
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"]
  return `${open}\n${members.join(",\n")}\n${indent}${close}`
}

if (process.env["HEADGATE_WRITE_DOCS"] === "1") {
  const fresh: Array<unknown> = []
  for (const section of sections) fresh.push(...(await answersOf(section)))
  const texts = fresh.map((answer) => written(answer))
  writeFileSync(
    path,
    page.replace(/^(```json answer: .+\n)[\s\S]*?^```$/gm, (_, fence: string) => `${fence}${texts.shift()}\n\`\`\``),
  )
}

describe("docs/routing.md", () => {
  test("asks five questions", () => expect(sections).toHaveLength(5))

  test.each(sections)("%s", async (section) => {
    const now = blocksOf(readFileSync(path, "utf8"))
    const told = now.filter((block) => block.section === section && answers(block))
    expect(told.map(({ text }) => JSON.parse(text))).toEqual([...(await answersOf(section))])
    expect(told.length).toBeGreaterThan(0)
  })
})
