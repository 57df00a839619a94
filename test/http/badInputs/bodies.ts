/** Numbers 1 to 17: bodies that are no request, too large or too late. */
import { expect } from "bun:test"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import { TimedOut } from "../../../src/domain/failures/Failure.ts"
import { readRequest } from "../../../src/http/readRequest.ts"
import { Lifetime } from "../../../src/services/request/RequestContext.ts"
import type { Timers } from "../../../src/services/request/Timers.ts"
import { expectRefusal, fine, type Refusal } from "../../support/clients/badInputs.ts"
import { answersIn, answerTo, lastWords, rawCaller, requestOf } from "../../support/clients/rawCaller.ts"
import { ManualClock } from "../../support/clocks/manualClock.ts"
import { configFor } from "../../support/hosts/host.ts"
import {
  badInput,
  bytes,
  chatPath,
  gateway,
  host,
  json,
  limitBytes,
  onlyOne,
  ordinary,
  passed,
  post,
  refused,
  startObserved,
} from "./harness.ts"

type Body = Parameters<typeof post>[0]

const utf16 = (text: string, mark: string) => Buffer.from(mark + text, "utf16le")
const deep = (levels: number) => `{"a":${"[".repeat(levels - 1)}${"]".repeat(levels - 1)}}`

export const bodyTests = (): void => {
  const bad = (number: number, name: string, body: Body, says: string | RegExp) =>
    badInput(number, name, () => refused(() => post(body), { status: 400, says }))

  bad(1, "an empty body", "", "The body is empty: a JSON object is expected")
  bad(1, "nothing but white space", " \r\n\t", "The body is empty: a JSON object is expected")
  badInput(1, "no body at all", () =>
    refused(() => answerTo(gateway.url, requestOf(`POST ${chatPath}`, ordinary())), { status: 400, says: "is empty" }),
  )
  bad(2, "{", "{", "not valid JSON: it ends too early, at line 1, column 2")
  bad(2, "a comma too many on the second line", '{"a":1,\n}', "not valid JSON: see line 2, column 1")
  for (const text of ["null", "[]", '"x"', "1"]) bad(3, text, text, "must be a JSON object")
  bad(4, "valid JSON followed by garbage", `${json} garbage`, /not valid JSON: see line 1, column \d+/)
  bad(4, "two objects", json + json, /not valid JSON: see line 1, column \d+/)
  badInput(5, "a byte order mark is skipped", async () => {
    expect(await passed(bytes(`\ufeff${json}`))).toMatchObject({ messages: fine["messages"] })
  })
  bad(6, "invalid UTF-8", Buffer.concat([bytes('{"model":"'), Buffer.from([0xc3, 0x28]), bytes('"}')]), "not UTF-8")
  bad(6, "a surrogate as UTF-8", Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]), "not UTF-8")
  bad(7, "UTF-16 with a mark", utf16(json, "\ufeff"), "not UTF-8")
  bad(7, "UTF-16 without one", utf16(json, ""), "not UTF-8")
  bad(7, "UTF-16, big end first", utf16(json, "\ufeff").swap16(), "not UTF-8")
  bad(8, "65 levels", deep(65), "nested too deep: the limit is 64 levels")
  badInput(8, "64 levels are not too deep", () =>
    refused(() => post(deep(64)), { status: 400, says: "is required", path: "model" }),
  )
  bad(9, "100,000 levels", "[".repeat(100_000), "nested too deep: the limit is 64 levels")
  badInput(10, "__proto__ and constructor are dropped, and nothing is polluted", async () => {
    const turn = '{"role":"user","content":"hi","__proto__":{"polluted":1}}'
    const tool = '{"type":"function","function":{"name":"f","parameters":{"properties":{"constructor":{}}}}}'
    const text = `{"__proto__":{"polluted":1},"\\u005f_proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"model":"acme/small","tools":[${tool}],"messages":[${turn}]}`
    const sent = await passed(text)
    expect(Reflect.get({}, "polluted")).toBeUndefined()
    expect(JSON.stringify(sent)).not.toContain("polluted")
    expect(JSON.stringify(sent)).not.toContain("__proto__")
    expect(Object.hasOwn(sent, "constructor")).toBe(false)
    // Further down it is a name that the caller may use: a property in a tool's schema.
    expect(sent["tools"]).toEqual(JSON.parse(`[${tool}]`))
  })
  badInput(11, "of a duplicate name the last one counts", async () => {
    const text =
      '{"model":"acme/nothing","seed":1,"model":"acme/small","seed":2,"messages":[{"role":"user","content":"hi"}]}'
    expect(await passed(text)).toMatchObject({ model: "upstream", seed: 2 })
  })

  const tooLarge: Refusal = { status: 413, says: `larger than ${limitBytes} bytes` }
  badInput(12, "one byte too many is refused before the body is sent", async () => {
    const head = requestOf(`POST ${chatPath}`, { ...ordinary(), "Content-Length": String(limitBytes + 1) })
    const metadata = await refused(async () => onlyOne(await lastWords(gateway.url, head)), tooLarge)
    expect(metadata["limit_bytes"]).toBe(limitBytes)
  })
  badInput(12, "far too many bytes are refused with the same message", () => {
    const head = requestOf(`POST ${chatPath}`, { ...ordinary(), "Content-Length": "99999999999" })
    return refused(async () => onlyOne(await lastWords(gateway.url, head)), tooLarge)
  })
  badInput(12, "exactly as many bytes as are allowed are read", () =>
    refused(() => post(json.replace('"content":"', `"content":"${"x".repeat(limitBytes - json.length)}`)), {
      status: 400,
      says: "context length",
      path: "messages",
      type: "context_length_exceeded",
    }),
  )
  badInput(13, "the same in chunks that never end", async () => {
    const caller = rawCaller(gateway.url)
    caller.send(requestOf(`POST ${chatPath}`, { ...ordinary(), "Transfer-Encoding": "chunked" }))
    const chunk = `100000\r\n${" ".repeat(0x100000)}\r\n`
    for (let sent = 0; sent < limitBytes; sent += 0x100000) caller.send(chunk)
    caller.send("1\r\n \r\n")
    const metadata = await refused(async () => onlyOne(answersIn(await caller.closed)), tooLarge)
    expect(metadata["limit_bytes"]).toBe(limitBytes)
  })
  badInput(15, "a body in an encoding that is not read", () =>
    refused(() => post(json, { "content-type": "application/json", "content-encoding": "br" }), {
      status: 400,
      says: "must be gzip or zstd",
      path: "Content-Encoding",
    }),
  )
  for (const type of [
    "text/plain",
    "text/plain;charset=utf-8",
    "application/x-www-form-urlencoded",
    "application/jsonp",
  ]) {
    badInput(16, type, () =>
      refused(() => post(json, { "content-type": type }), {
        status: 400,
        says: "must be application/json",
        path: "Content-Type",
      }),
    )
  }
  badInput(17, "no Content-Type", async () => {
    expect(await passed(bytes(json), {})).toMatchObject({ model: "upstream" })
  })
}

/** Number 14: a body that does not come. */
export const stalledTests = (): void => {
  const incomplete = /^The request body was not complete after 30 seconds\.$/
  const silent = /^No byte of the request body came for 30 seconds\.$/
  type Stall = readonly [name: string, line: string, framing: Record<string, string>, sent: string, says?: RegExp]
  const stalls: ReadonlyArray<Stall> = [
    ["less than its length", `POST ${chatPath}`, { "Content-Length": "100" }, '{"model"'],
    ["nothing of it", `POST ${chatPath}`, { "Content-Length": "100" }, ""],
    ["chunks without an end", `POST ${chatPath}`, { "Transfer-Encoding": "chunked" }, '8\r\n{"model"\r\n', silent],
    ["a long body", `POST ${chatPath}`, { "Content-Length": "1000000" }, '{"model"', silent],
    ["a new key's body", "POST /api/v1/keys", { "Content-Length": "100" }, '{"name"'],
  ]
  for (const [name, line, framing, sent, says = incomplete] of stalls) {
    badInput(14, `${name}, then silence`, async () => {
      const clock = new ManualClock()
      const slow = await startObserved({
        config: configFor({ acme: { url: host.url } }),
        setting: Layer.setClock(clock),
      })
      const calls = host.calls.length
      const caller = rawCaller(slow.url)
      const key = line.endsWith("keys") ? slow.managementKey : slow.key
      caller.send(requestOf(line, { ...ordinary(), Authorization: `Bearer ${key}`, ...framing }) + sent)
      let said: string | undefined
      caller.closed.then((received) => {
        said = received
      })
      let waited = 0
      while (said === undefined && waited < 50_000_000) {
        clock.advance(500)
        // One turn of the event loop, so that the sockets proceed.
        await new Promise((resolve) => setImmediate(resolve))
        waited += 500
      }
      expect(waited).toBeGreaterThanOrEqual(30_000)
      const metadata = await expectRefusal(onlyOne(answersIn(said ?? "")), { status: 408, says }, [
        slow.key,
        slow.managementKey,
      ])
      expect(metadata["phase"]).toBe("body")
      expect(host.calls.length).toBe(calls)
      await slow.stop()
    })
  }

  for (const [kind, headers] of Object.entries({ announced: { "content-length": "100" }, chunked: {} })) {
    badInput(14, `the timer is set to 30 seconds and cleared when the body has arrived: ${kind}`, async () => {
      const set: Array<{ readonly delayMs: number; readonly fire: () => void }> = []
      let isCleared = false
      const timers: Context.Tag.Service<Timers> = {
        now: () => 0,
        set: (delayMs, fire) => {
          set.push({ delayMs, fire })
          return { restart: () => {}, clear: () => (isCleared = true) }
        },
      }
      const reading = (body: string | ReadableStream) =>
        Effect.runPromise(
          Effect.either(
            readRequest(
              new Request("http://x/", { method: "POST", headers, body }),
              { limitBytes: 1000, timers, places: undefined },
              new Lifetime(),
            ),
          ),
        )
      const stalled = reading(new ReadableStream())
      expect(set.map(({ delayMs }) => delayMs)).toEqual([30_000])
      set[0]?.fire()
      const because = kind === "chunked" ? { because: "silent" as const } : {}
      expect(await stalled).toEqual(Either.left(new TimedOut({ phase: "body", afterMs: 30_000, ...because })))
      expect(isCleared).toBe(true)
      isCleared = false
      expect(await reading(json)).toEqual(Either.right(bytes(json)))
      expect(isCleared).toBe(true)
    })
  }
}
