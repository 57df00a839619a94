/**
 * Bodies that blocked every caller for seconds, some for so long that the watchdog ended the process. Nothing is timed here: such a
 * body is refused, and one that was not would take minutes. See docs/guarantees.md#g30.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { normalName } from "../../../src/domain/request/hostedTools.ts"
import { unwrapped } from "../../../src/formats/foreignReasoning.ts"
import { most } from "../../../src/formats/request/members.ts"
import { forms, type Hosts, startHosts } from "../payload/hosts.ts"

let hosts: Hosts
beforeAll(async () => {
  hosts = await startHosts()
})
afterAll(() => hosts.stop())

const named = (count: number, name: (at: number) => string) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [name(at), 1]))

describe.each(forms)("at %s", (form) => {
  test("40,000 unknown members ended the process: more than 1,024 members are refused, 900 are named as dropped", async () => {
    for (const name of [(at: number) => `k${at}`, (at: number) => `-k${at}`]) {
      const { status, text, sent } = await hosts.ask(form, "responses", named(40_000, name))
      expect([status, sent]).toEqual([400, undefined])
      expect(text).toContain(`at most ${most.members} members`)
    }
    const { status, dropped } = await hosts.ask(
      form,
      "responses",
      named(900, (at) => `k${at}`),
    )
    expect(status).toBe(200)
    expect(dropped).toContain("k0")
  })

  test("an address with 80,000 dots took 28 seconds: it is refused", async () => {
    for (const name of [`${".".repeat(80_000)}a`, `a${".".repeat(80_000)}b.example`, `${"a.".repeat(200)}example`]) {
      const { status, sent } = await hosts.ask(form, "google", { extra: { image_url: `https://${name}/` } })
      expect([status, sent]).toEqual([400, undefined])
    }
    const long = await hosts.ask(form, "compatible", { extra: { url: `https://a.example/${"a".repeat(70_000)}` } })
    expect(long.text).toContain("at most 65536 characters")
  }, 1_800_000)
})

const called = (calls: number, values: number) => ({
  tools: [{ type: "function", function: { name: "f" } }],
  messages: [
    { role: "user", content: "hi" },
    {
      role: "assistant",
      content: null,
      tool_calls: Array.from({ length: calls }, (_, at) => ({
        id: `c${at}`,
        type: "function",
        function: { name: "f", arguments: `{"x":[${"[],".repeat(values / calls)}[]]}` },
      })),
    },
    ...Array.from({ length: calls }, (_, at) => ({ role: "tool", tool_call_id: `c${at}`, content: "fine" })),
  ],
})

describe("the arguments of tool calls", () => {
  test.each([1, 50])(
    "were parsed for some hosts, a gigabyte of empty arrays: counted as values (%d calls)",
    async (calls) => {
      for (const protocol of ["messages", "google", "ollama", "converse"] as const) {
        const { status, text, sent } = await hosts.ask("/chat/completions", protocol, called(calls, 600_000))
        expect([status, sent]).toEqual([400, undefined])
        expect(text).toContain("the arguments of tool calls have too many JSON values")
      }
    },
  )

  test("are counted in the Responses form too", async () => {
    const item = { type: "function_call", call_id: "c", name: "f", arguments: `{"x":[${"[],".repeat(600_000)}[]]}` }
    const output = { type: "function_call_output", call_id: "c", output: "fine" }
    const { status, text } = await hosts.ask("/responses", "messages", { input: [item, output] })
    expect(status).toBe(400)
    expect(text).toContain("the arguments of tool calls have too many JSON values")
  })

  test("of many bytes and few values pass: signs within texts are none", async () => {
    const file = { path: "a.json", text: `[${"1,".repeat(600_000)}1]` }
    const call = { id: "c", type: "function", function: { name: "f", arguments: JSON.stringify(file) } }
    const { status, sent } = await hosts.ask("/chat/completions", "messages", {
      tools: [{ type: "function", function: { name: "f" } }],
      messages: [
        { role: "user", content: "hi" },
        { role: "assistant", content: null, tool_calls: [call] },
        { role: "tool", tool_call_id: "c", content: "fine" },
      ],
    })
    expect(status).toBe(200)
    expect(JSON.stringify(sent)).toContain(JSON.stringify(file))
  })
})

test("results of tools were parsed for Google whatever was in them: beyond 1,000,000 characters in all they stay texts", async () => {
  const result = (at: number) => ({
    role: "tool",
    tool_call_id: "c",
    content: `{"at":${at},"x":"${"a".repeat(450_000)}"}`,
  })
  const call = { id: "c", type: "function", function: { name: "f", arguments: "{}" } }
  const { status, sent } = await hosts.ask("/chat/completions", "google", {
    tools: [{ type: "function", function: { name: "f" } }],
    messages: [
      { role: "user", content: "hi" },
      { role: "assistant", content: null, tool_calls: [call] },
      ...[0, 1, 2].map(result),
    ],
  })
  expect(status).toBe(200)
  const text = JSON.stringify(sent)
  expect([0, 1, 2].map((at) => text.includes(`"response":{"at":${at},`))).toEqual([true, true, false])
})

test("a signature that claims to be the gateway's is read only where it has no more values than one", () => {
  const wrapped = (detail: object) => `headgate.v1.${Buffer.from(JSON.stringify(detail)).toString("base64url")}`
  const detail = { type: "reasoning.text", text: "a,".repeat(1000), format: "unknown", index: 0 } as const
  expect(unwrapped(wrapped(detail))).toEqual(detail)
  expect(unwrapped(wrapped({ ...detail, more: Array.from({ length: 100 }, () => []) }))).toBeUndefined()
})

test("a name of megabytes was brought into its normal form sign by sign: its beginning and its end are", () => {
  const blanks = " ".repeat(1_000_000)
  expect(normalName(`File${blanks}_ID`)).toBe("fileid")
  expect(normalName(`${blanks}image${blanks}URL${blanks}`)).toBe("imageurl")
  expect(normalName(`${"a_".repeat(1_000_000)}url`)).toEndWith("url")
  expect(normalName(`${"a_".repeat(1_000_000)}url`).length).toBeLessThan(1000)
})
