/** Bodies that are cheap to send and dear to parse. docs/guarantees.md#g30 */
import { describe, expect, test } from "bun:test"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as Runtime from "effect/Runtime"
import { parseBody } from "../../../src/http/parseBody.ts"
import { finished, makeEffectRunner } from "../../../src/services/request/EffectRunner.ts"
import { ownTurn } from "../../../src/services/request/turns.ts"
import { escapedBytes, JsonScan, mostMembers, mostValues } from "../../../src/wire/JsonScan.ts"
import { errorOf } from "../../support/clients/answers.ts"
import { startGateway } from "../../support/gateways/gateway.ts"
import { closeAfterEach, opened } from "../../support/gateways/watched.ts"
import { configFor, scriptedHost, wholeAnswer } from "../../support/hosts/host.ts"

closeAfterEach()

const bytesOf = (text: string) => new TextEncoder().encode(text)

const scanned = (text: string, step = 1000) => {
  const scan = new JsonScan(bytesOf(text))
  while (!scan.isDone) {
    const excess = scan.advance(step)
    if (excess !== undefined) return excess
  }
  return undefined
}

const list = (values: number, value: string) => `{"x":[${Array.from({ length: values }, () => value).join()}]}`

describe("a scan of a body", () => {
  test.each([
    ["empty arrays", "[]"],
    ["empty objects", "{}"],
    ["numbers", "1"],
    ["texts", '"a, b"'],
  ])("counts values exactly: %s", (_, value) => {
    // The object and the list are two.
    expect(scanned(list(mostValues - 2, value))).toBeUndefined()
    expect(scanned(list(mostValues - 1, value))).toBe("values")
  })

  test("counts the members of objects", () => {
    const members = (count: number) => `{${Array.from({ length: count }, (_, at) => `"${at}:,":1`).join()}}`
    expect(scanned(members(mostMembers))).toBeUndefined()
    expect(scanned(members(mostMembers + 1))).toBe("members")
  })

  test("finds what is nested too deep", () => {
    expect(scanned(`{"a":${"[".repeat(63)}${"]".repeat(63)}}`)).toBeUndefined()
    expect(scanned(`{"a":${"[".repeat(64)}`)).toBe("depth")
  })

  test("sees the ends of strings wherever it is cut, and whatever is escaped", () => {
    const piece = FastCheck.constantFrom(
      "a",
      "\\",
      '"',
      "[",
      ",",
      "é",
      "😀",
      "x".repeat(70),
      "\\\\\\\\",
      '"'.repeat(40),
    )
    const text = FastCheck.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(""))
    FastCheck.assert(
      FastCheck.property(
        FastCheck.array(text, { maxLength: 8 }),
        FastCheck.integer({ min: 1, max: 200 }),
        (texts, step) => {
          const written = JSON.stringify({ x: texts })
          const scan = new JsonScan(bytesOf(written))
          while (!scan.isDone) expect(scan.advance(step)).toBeUndefined()
          const inside = texts.reduce((sum, one) => sum + bytesOf(JSON.stringify(one)).length - 2, 0)
          expect(scan.textBytes).toBe(inside + 1)
          const all = bytesOf(written)
          const decoded = texts.reduce((sum, one) => sum + bytesOf(one).length, 0)
          expect(inside - escapedBytes(all, 0, all.length)).toBeLessThanOrEqual(decoded)
        },
      ),
    )
  })

  test("takes data URLs and base64 for media, and prose for text", () => {
    const textBytes = (text: string) => {
      const scan = new JsonScan(bytesOf(JSON.stringify([text])))
      scan.advance(1e9)
      return scan.textBytes
    }
    expect(textBytes(`data:image/png;base64,${"QUJD".repeat(1000)}`)).toBe(0)
    expect(textBytes("QUJD".repeat(1000))).toBe(0)
    expect(textBytes("QUJD")).toBe(4)
    expect(textBytes("some words ".repeat(1000))).toBe(11_000)
    expect(textBytes("漢字".repeat(1000))).toBe(6000)
  })
})

test("work on long bodies takes turns of the event loop, one each", async () => {
  const runner = makeEffectRunner(Runtime.defaultRuntime)
  const order: Array<string> = []
  const done = ["a", "b", "c"].map(
    (name) =>
      new Promise<void>((resolve) => {
        expect(finished(ownTurn)).toBeUndefined()
        runner.run(ownTurn, () => {
          order.push(name)
          setImmediate(() => order.push(`after ${name}`))
          resolve()
        })
      }),
  )
  expect(order).toEqual([])
  await Promise.all(done)
  await new Promise((resolve) => setImmediate(resolve))
  expect(order).toEqual(["a", "after a", "b", "after b", "c", "after c"])
})

const small = { model: "acme/small", messages: [{ role: "user", content: "hi" }], max_tokens: 10 }

const start = async () => {
  const host = opened(scriptedHost(() => wholeAnswer("fine")))
  const config = configFor({ acme: host })
  return { host, gateway: opened(await startGateway({ config })) }
}

describe("a body", () => {
  const paths = [
    "/chat/completions",
    "/messages",
    "/responses",
    "/completions",
    "/embeddings",
    "/rerank",
    "/route/explain",
    "/messages/count_tokens",
  ]

  test.each([
    [
      "of 700,000 empty arrays",
      `{"x":[${"[],".repeat(700_000)}[]]}`,
      `too many JSON values: the limit is ${mostValues}`,
    ],
    [
      "of 700,000 empty objects",
      `{"x":[${"{},".repeat(700_000)}{}]}`,
      `too many JSON values: the limit is ${mostValues}`,
    ],
    [
      "of 200,000 members",
      `{"x":{${'"":1,'.repeat(200_000)}"a":1}}`,
      `too many members of objects: the limit is ${mostMembers}`,
    ],
    [
      "nested deeply within a megabyte",
      `{"x":"${"a".repeat(1_000_000)}","y":${"[".repeat(1000)}`,
      "nested too deep: the limit is 64 levels",
    ],
  ])(
    "%s was parsed, which took a gigabyte and a second: 400 on every route that takes a body",
    async (_, text, says) => {
      const { gateway, host } = await start()
      const body = Buffer.from(text)
      for (const path of paths) {
        const response = await gateway.call(path, {
          method: "POST",
          body,
          headers: { "content-type": "application/json" },
        })
        const said = await response.text()
        expect([path, response.status]).toEqual([path, 400])
        expect(said).toContain(says)
      }
      const managed = await gateway.call("/keys", {
        method: "POST",
        body,
        headers: { authorization: `Bearer ${gateway.managementKey}`, "content-type": "application/json" },
      })
      expect((await errorOf(managed)).message).toContain(says)
      expect(host.calls).toEqual([])
    },
    1_800_000,
  )

  test("with as many values as are allowed is read", async () => {
    const { gateway, host } = await start()
    // Seven are those of the request and the list itself.
    const text = JSON.stringify(small).slice(0, -1)
    const values = mostValues - 8
    const response = await gateway.call("/chat/completions", {
      method: "POST",
      body: `${text},"unknown":[${"1,".repeat(values - 1)}1]}`,
      headers: { "content-type": "application/json" },
    })
    expect(response.status).not.toBe(413)
    expect(await response.text()).not.toContain("JSON values")
    expect(host.calls.length).toBeLessThanOrEqual(1)
  })

  test("of more text than any model's context is refused before it is parsed, one with as much media is not", async () => {
    const { gateway, host } = await start()
    // The longest context is the echo's, 131,072 tokens: 2 MiB at the very most.
    const asked = (content: unknown, more = {}) =>
      gateway.chat({ ...small, ...more, messages: [{ role: "user", content }] })
    const words = "many words ".repeat(250_000)
    const error = await errorOf(await asked(words))
    expect(error).toMatchObject({ code: 400, metadata: { error_type: "context_length_exceeded", path: "messages" } })
    expect(error.message).toMatch(
      /^This model's maximum context length is 131072 tokens, but the request has at least \d+\.$/,
    )
    // It is refused for its length, although it is no JSON: it was not parsed.
    const raw = await gateway.call("/responses", {
      method: "POST",
      body: `{"input":"${words}" x`,
      headers: { "content-type": "application/json" },
    })
    expect((await errorOf(raw)).metadata).toMatchObject({ error_type: "context_length_exceeded", path: "input" })
    const image = { type: "image_url", image_url: { url: `data:image/png;base64,${"QUJD".repeat(800_000)}` } }
    expect((await asked([{ type: "text", text: "see" }, image])).status).toBe(200)
    expect(host.calls.length).toBe(1)
  })

  test("is not refused for the escapes that its text is written with", () => {
    const text = "é".repeat(100_000)
    const escaped = `{"x":"${text.replaceAll("é", "\\u00e9")}"}`
    const scan = new JsonScan(bytesOf(escaped))
    scan.advance(1e9)
    const all = bytesOf(escaped)
    expect(scan.textBytes - escapedBytes(all, 0, all.length)).toBeLessThanOrEqual(200_001)
  })

  test("of a key that can pay nothing is parsed as a short one is, since its model may cost nothing", async () => {
    const { gateway } = await start()
    const key = await gateway.newKey({ limit: 0n })
    const send = (body: string) =>
      gateway.call("/chat/completions", {
        method: "POST",
        body,
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      })
    expect((await send("{")).status).toBe(400)
    expect((await send(JSON.stringify(small))).status).toBe(402)
    expect((await send(`{"x":${" ".repeat(1_048_576)}`)).status).toBe(400)
    const error = await errorOf(await send(JSON.stringify({ ...small, user: " ".repeat(1_048_576) })))
    expect(error).toMatchObject({ code: 402, metadata: { reason: "limit_exhausted" } })
  })
})

test("a scan and the parser agree on what is nested too deep", () => {
  for (const levels of [63, 64, 65]) {
    const text = `{"a":${"[".repeat(levels - 1)}${"]".repeat(levels - 1)}}`
    expect(scanned(text) === undefined).toBe(Either.isRight(parseBody(bytesOf(text))))
  }
})
