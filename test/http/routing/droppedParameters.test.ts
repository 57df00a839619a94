/** Parameters that a host does not support: another host is better, then they are left out and named, or the host is. */
import { describe, expect, test } from "bun:test"
import { errorOf } from "../../support/clients/answers.ts"
import { ask, closeAfterEach, good, routed } from "../../support/gateways/routed.ts"

closeAfterEach()

const tools = [{ type: "function", function: { name: "f" } }]
const with_ = (...supported_parameters: ReadonlyArray<string>) => ({ supported_parameters })

describe("a host that lists its parameters", () => {
  const start = (supported: ReadonlyArray<string>, more: Record<string, unknown> = {}) =>
    routed({ a: good() }, { change: { hosts: { a: { supported_parameters: supported, ...more } } } })

  test("gets no others, and the caller learns which", async () => {
    const gateway = await start(["top_p", "tools"])
    const given = { temperature: 1, top_p: 0.5, seed: 1, stop: ["x"], x_unknown: 1, max_tokens: 9, tools }
    const response = await gateway.chat(ask(given))
    expect(response.headers.get("x-gw-dropped")).toBe("temperature, seed, stop")
    const { model: _, messages: __, stream: ___, ...sent } = gateway.hosts["a"]?.calls[0]?.body ?? {}
    expect(sent).toEqual({ top_p: 0.5, x_unknown: 1, max_tokens: 9, tools })
  })

  test("loses twenty parameters, of which the header named the first ones and half of another: it names them all", async () => {
    const gateway = await start(["max_tokens"])
    const given = {
      ...{ temperature: 1, top_p: 0.5, top_k: 1, min_p: 0.1, top_a: 0.1, seed: 1, stop: ["x"], logprobs: true },
      ...{ frequency_penalty: 1, presence_penalty: 1, repetition_penalty: 1, logit_bias: { 1: 1 }, top_logprobs: 1 },
      ...{ prediction: { type: "content", content: "x" }, response_format: { type: "json_object" }, verbosity: "low" },
      ...{ structured_outputs: true, tools, tool_choice: "auto", parallel_tool_calls: false },
    }
    const response = await gateway.chat(ask(given))
    expect(response.headers.get("x-gw-dropped")).toBe(Object.keys(given).join(", "))
  })

  test("lists one name of several for the same", async () => {
    const gateway = await start(["max_tokens", "reasoning"])
    const provider = { require_parameters: true }
    const response = await gateway.chat(ask({ max_completion_tokens: 5, reasoning_effort: "low", provider }))
    expect([response.status, response.headers.get("x-gw-dropped")]).toEqual([200, null])
    expect(gateway.hosts["a"]?.calls[0]?.body).toMatchObject({ max_tokens: 5, reasoning_effort: "low" })
  })

  test.each([
    ["tools", { tools, tool_choice: "auto", parallel_tool_calls: false }, "tools, tool_choice, parallel_tool_calls"],
    ["reasoning", { reasoning: { effort: "low" } }, "reasoning"],
    ["its shorthand", { reasoning_effort: "low" }, "reasoning_effort"],
    ["less reasoning", { reasoning: { enabled: false } }, "reasoning"],
    ["reasoning that is only hidden", { reasoning: { exclude: true } }, null],
    ["a format", { response_format: { type: "json_object" } }, "response_format"],
  ] as const)("and takes only `seed` loses %s", async (_name, body, dropped) => {
    const gateway = await start(["seed"])
    const response = await gateway.chat(ask({ seed: 1, ...body }))
    expect([response.status, response.headers.get("x-gw-dropped")]).toEqual([200, dropped])
    const sent = gateway.hosts["a"]?.calls[0]?.body
    expect(sent?.["seed"]).toBe(1)
    for (const name of dropped?.split(", ") ?? []) expect(sent).not.toHaveProperty(name)
  })

  test.each([
    ["required", "tool_choice"],
    [{ type: "function", function: { name: "f" } }, "tool_choice"],
    ["auto", null],
    ["none", null],
  ] as const)("and lets tools be chosen freely loses %p", async (choice, dropped) => {
    const choices = { none: false, auto: true, required: false, function: false }
    const gateway = await start(["tools", "tool_choice"], { supports_tool_choice: choices })
    const response = await gateway.chat(ask({ tools, tool_choice: choice }))
    expect(response.headers.get("x-gw-dropped")).toBe(dropped)
  })
})

test("a host that lists nothing gets everything", async () => {
  const gateway = await routed({ a: good() })
  const response = await gateway.chat(ask({ temperature: 1, stop: "x", tools, verbosity: "low" }))
  expect(response.headers.get("x-gw-dropped")).toBeNull()
  expect(gateway.hosts["a"]?.calls[0]?.body).toMatchObject({ temperature: 1, stop: "x", tools, verbosity: "low" })
})

describe("several hosts", () => {
  const start = () =>
    routed({ a: good(), b: good() }, { change: { hosts: { a: with_("seed"), b: with_("tools", "verbosity") } } })

  test.each([
    ["tools", { tools }, "b"],
    ["verbosity", { verbosity: "low" }, "b"],
    ["a format that none supports", { response_format: { type: "json_object" } }, "a"],
    ["a parameter that only tunes", { temperature: 1 }, "a"],
  ] as const)("%s", async (_name, body, expected) => {
    const response = await (await start()).chat(ask(body))
    expect([response.status, response.headers.get("x-gw-host")]).toEqual([200, expected])
  })

  test("the one that is worse for a parameter does not stand in for the other", async () => {
    const gateway = await start()
    const { metadata } = await errorOf(await gateway.chat(ask({ tools, provider: { only: ["nobody"] } })))
    expect(metadata?.["excluded"]).toMatchObject([{ host: "a" }, { host: "b" }])
  })

  test("a caller who requires parameters gets the host that has them all, or 404", async () => {
    const gateway = await start()
    const provider = { require_parameters: true }
    expect((await gateway.chat(ask({ seed: 1, provider }))).headers.get("x-gw-host")).toBe("a")
    const { message } = await errorOf(await gateway.chat(ask({ seed: 1, verbosity: "low", provider })))
    expect(message).toContain("does not support seed")
  })
})
