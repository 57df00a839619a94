/**
 * How much of a plugin's meaning the kit holds. A plugin that a stranger wrote, in a protocol like Gemini's, passes. Each of
 * these faults, put into its source, is found by the check that is named.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { cp, mkdir, mkdtemp, rm } from "node:fs/promises"
import { join } from "node:path"
import type { ProviderPlugin } from "headgate/plugin"
import { providerChecks } from "headgate/testing"
import { failureOf, failuresOf } from "./acme.ts"
import plugin from "./geminiLike/index.ts"
import { countedSubjectOf, subjectOf } from "./geminiLike/subject.ts"

interface Mutant {
  readonly fault: string
  readonly file: "request" | "answer" | "index"
  readonly from: string
  readonly to: string
  readonly check: string
}

const request = (fault: string, from: string, to: string, check: string): Mutant => ({
  ...{ fault, file: "request", from, to },
  check: `generate_content: encode() ${check}`,
})
const answer = (fault: string, from: string, to: string, check: string): Mutant => ({
  ...{ fault, file: "answer", from, to },
  check: `generate_content: ${check}`,
})

const parameters = "sends every parameter, or says that it drops it"
const streaming = "asks for a stream only where one is wanted"
const results = "sends the results of tools, each with its call"
const unknown = "passes on what it does not know, and names what it leaves out"
const parts = "sends or refuses every kind of part"
const back = "sends signed and encrypted reasoning back unchanged"
const calls = "two calls comes to what is expected"
const counted = "text after a thought is counted"

const mutants: ReadonlyArray<Mutant> = [
  request(
    "system prompt dropped",
    "isAlone || system.length === 0 ? undefined",
    "true ? undefined",
    "sends the system prompt",
  ),
  request("developer role dropped", ` || role === "developer"`, "", "sends the system prompt"),
  request(
    "tools dropped",
    "tools.length === 0 ? undefined : tools",
    "undefined",
    "sends tools, with their descriptions and parameters",
  ),
  request(
    "parameters of tools dropped",
    "parametersJsonSchema: parameters ?? undefined",
    "",
    "sends tools, with their descriptions and parameters",
  ),
  request("tool results dropped", "response: resultOf(textOf(message.content))", "response: {}", results),
  request(
    "tool results with the id of another call",
    "const id = message.tool_call_id",
    `const id = message.tool_call_id === "call_oslo_1" ? "call_bergen_2" : "call_oslo_1"`,
    results,
  ),
  request("tool results without their call", "functionResponse: { id,", `functionResponse: { id: "call",`, results),
  request(
    "a developer message as the user's",
    `if (message.role === "user")`,
    `if (message.role === "user" || message.role === "developer")`,
    "sends the system prompt",
  ),
  request(
    "only the first part of a text sent",
    "Either.all(partsOf(content).map(",
    "Either.all(partsOf(content).slice(0, 1).map(",
    "sends every part of text",
  ),
  request(
    "earlier calls without arguments",
    "args: argumentsObject(call)",
    "args: {}",
    "sends the calls of tools with their arguments",
  ),
  request("temperature dropped", "temperature: payload.temperature ?? undefined,", "", parameters),
  request("stop dropped", "stopSequences: stop == null", "stopSequences: true", parameters),
  request("only the first stop sent", ": stop,\n", ": stop.slice(0, 1),\n", parameters),
  request("seed dropped", "seed: payload.seed ?? undefined,", "", parameters),
  request("tool choice dropped", "toolConfig: toolConfig(payload.tool_choice),", "", parameters),
  request("JSON schema dropped", "responseJsonSchema: wanted", "ignored: undefined && wanted", parameters),
  request(
    "reasoning dropped",
    `thinkingConfig: thinkingConfig === "dropped" ? undefined : thinkingConfig`,
    "ignored: undefined",
    parameters,
  ),
  request("unknown members dropped in silence", "[...dropped, ...unknownMembers(payload)]", "dropped", unknown),
  request(
    "everything named as dropped",
    "[...dropped, ...unknownMembers(payload)]",
    "[...dropped, ...Object.keys(payload)]",
    unknown,
  ),
  request(
    "stream: true sent to the whole-answer method",
    `stream ? "streamGenerateContent?alt=sse" : "generateContent"`,
    `stream ? "generateContent?alt=sse" : "generateContent"`,
    streaming,
  ),
  request(
    "a whole answer asked of the stream's method",
    `stream ? "streamGenerateContent?alt=sse" : "generateContent"`,
    `"streamGenerateContent?alt=sse"`,
    streaming,
  ),
  request(
    "the two methods exchanged",
    `stream ? "streamGenerateContent?alt=sse" : "generateContent"`,
    `stream ? "generateContent" : "streamGenerateContent?alt=sse"`,
    streaming,
  ),
  request("output not bounded", "maxOutputTokens: maxTokens,", "", "bounds the output"),
  request(
    "a null where there is no bound",
    "maxOutputTokens: maxTokens,",
    "maxOutputTokens: maxTokens ?? null,",
    "works without a bound of the output",
  ),
  request("pictures lost", "return inline(data.mediaType, base64Of(data))", `return Either.right({ text: "" })`, parts),
  request(
    "pictures in tool results lost",
    "{ id, name, response: resultOf(textOf(message.content)) } }, ...others]",
    "{ id, name, response: resultOf(textOf(message.content)) } }]",
    parts,
  ),
  request("signatures not sent back", "if (piece.type !== ", "if (true || piece.type !== ", back),
  answer("tool index always 0", "index: state.calls++", "index: 0", calls),
  answer("arguments as an object", `JSON.stringify(called["args"] ?? {})`, `(called["args"] ?? {}) as never`, calls),
  answer("arguments as [object Object]", `JSON.stringify(called["args"] ?? {})`, `String(called["args"] ?? {})`, calls),
  answer("ends with stop after a call", `hasCalls && reason === "stop" ? "tool_calls" : reason`, "reason", calls),
  answer(
    "thoughts left out of billing",
    `(numberIn(counted["candidatesTokenCount"]) ?? 0) + thoughts`,
    `numberIn(counted["candidatesTokenCount"]) ?? 0`,
    counted,
  ),
  answer("thoughts not told apart", "reasoning_tokens: thoughts", "reasoning_tokens: 0", counted),
  answer("cached tokens dropped", `cached_tokens: numberIn(counted["cachedContentTokenCount"]),`, "", counted),
  answer("cached tokens not in the prompt", "prompt_tokens: prompt + ", "prompt_tokens: prompt - 32 + ", counted),
  answer(
    "thoughts shown as text",
    "said.thoughts += text",
    "said.text += text",
    "text after a thought comes to what is expected",
  ),
  answer(
    "the end of the output bound told as stop",
    `MAX_TOKENS: "length"`,
    `MAX_TOKENS: "stop"`,
    "text after a thought comes to what is expected",
  ),
  answer(
    "errors within a stream taken for chunks",
    `  const event: Decoder["event"] = (_name, data) => {
    if (!isJsonObject(data)) return malformed()
    if (data["error"] != null) return refined(errorInBody(data["error"]), data["error"])`,
    `  const event: Decoder["event"] = (_name, data) => {
    if (!isJsonObject(data)) return malformed()
    if (data["error"] != null) return []`,
    "an error within fails as is expected",
  ),
  answer(
    "pictures of answers lost",
    "said.images.push(",
    "void (",
    "a picture with its source comes to what is expected, and is counted",
  ),
  {
    fault: "RetryInfo ignored",
    file: "index",
    from: "seconds === undefined ? {}",
    to: "true ? {}",
    check: "error(): a rate limit is rate-limited",
  },
  {
    fault: "a wrong key is the caller's fault",
    file: "index",
    from: "keyInvalid ||",
    to: "",
    check: "error(): a key that is not valid is account",
  },
]

describe("a plugin in a protocol like Gemini's", () => {
  test("passes", async () => {
    expect([...(await failuresOf(await providerChecks(countedSubjectOf(plugin))))]).toEqual([])
  })

  test("fails only for samples that do not say what they are charged", async () => {
    const failures = [...(await failuresOf(await providerChecks(subjectOf(plugin))))]
    expect(failures.map(([name]) => name)).toEqual(["generate_content: samples show what a protocol can get wrong"])
    expect(failures[0]?.[1]).toContain("charged: text after a thought, two calls, a refused prompt, a whole call")
  })

  // In the repository, where `headgate/plugin` and `effect` are found.
  const within = new URL("../../node_modules/", import.meta.url).pathname
  let home = ""
  beforeAll(async () => {
    await mkdir(within, { recursive: true })
    home = await mkdtemp(join(within, ".headgate-mutants-"))
  })
  afterAll(() => rm(home, { recursive: true }))

  const mutated = async ({ file, from, to }: Mutant): Promise<ProviderPlugin> => {
    const folder = join(home, crypto.randomUUID())
    await cp(new URL("geminiLike/", import.meta.url).pathname, folder, { recursive: true })
    const source = await Bun.file(join(folder, `${file}.ts`)).text()
    expect(source).toContain(from)
    await Bun.write(
      join(folder, `${file}.ts`),
      source.replace(from, () => to),
    )
    return (await import(join(folder, "index.ts"))).default
  }

  test.each(mutants.map((mutant) => [mutant.fault, mutant] as const))(
    "with a fault, %s, is found out",
    async (_, mutant) => {
      const failure = await failureOf(await providerChecks(subjectOf(await mutated(mutant))), mutant.check)
      expect(failure).toContain("Contract: ")
    },
  )
})
