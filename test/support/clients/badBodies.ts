/** Bodies of `POST /chat/completions` that are refused, as a table. */
import { fine, type Json, type Refusal } from "./badInputs.ts"

export interface BadBody {
  readonly number: number
  readonly name: string
  readonly text: string
  readonly wanted: Refusal
}

/** The valid request with other members; `undefined` removes one. */
const changed =
  (number: number) =>
  (name: string, changes: Json, path: string, says: string | RegExp): BadBody => ({
    number,
    name,
    text: JSON.stringify({ ...fine, ...changes }),
    wanted: { status: 400, says, path },
  })

/** The valid request with one more member, as raw text: for what `JSON.stringify` would not write. */
const written = (number: number, member: string, path: string, says: string | RegExp): BadBody => ({
  number,
  name: member,
  text: `${JSON.stringify(fine).slice(0, -1)},${member}}`,
  wanted: { status: 400, says, path },
})

/** One member with several wrong values. */
const values = (
  number: number,
  member: string,
  says: string | RegExp,
  wrong: ReadonlyArray<unknown>,
  path = member,
): ReadonlyArray<BadBody> =>
  wrong.map((value) =>
    changed(number)(`${member}: ${JSON.stringify(value).slice(0, 60)}`, { [member]: value }, path, says),
  )

/** The same for a member of `provider`. */
const preference = (number: number, member: string, wrong: unknown, says: string | RegExp, path = member): BadBody =>
  changed(number)(
    `provider.${member}: ${JSON.stringify(wrong)}`,
    { provider: { [member]: wrong } },
    `provider.${path}`,
    says,
  )

const turn = (number: number, message: unknown, path: string, says: string | RegExp): BadBody =>
  changed(number)(`message ${JSON.stringify(message)}`, { messages: [message] }, `messages[0]${path}`, says)

const noHostTexts: Readonly<Record<string, string>> = {
  only: "No allowed providers are available for the selected model.",
  ignore: "No allowed providers are available for the selected model.",
  zdr: "No endpoints found for acme/small that match the data policy (zdr).",
}

const noHost = (number: number, provider: Json, by: string): BadBody => ({
  number,
  name: `provider ${JSON.stringify(provider)}`,
  text: JSON.stringify({ ...fine, provider }),
  wanted: { status: 404, says: noHostTexts[by] ?? `No endpoints found for acme/small: excluded by ${by}.` },
})

const user = { role: "user", content: "hi" }
const call = { id: "c", type: "function", function: { name: "f", arguments: "{}" } }
const tool = (definition: Json) => ({ tools: [{ type: "function", function: definition }] })
const invalidModel = "is not a valid model ID"
const positive = "must be an integer from 1 to 2147483647"
const noJson = /not valid JSON: see line 1, column \d+/
const price = "must be a non-negative number"

/** Numbers 18 to 51. */
export const badBodies: ReadonlyArray<BadBody> = [
  changed(18)("neither model nor models", { model: undefined }, "model", "is required, or models in its place"),
  ...values(19, "model", "must be a non-empty string", ["", 5, null, {}, ["acme/small"]]),
  ...values(20, "model", invalidModel, ["gpt-nothing", "acme/nothing", "Acme/Small", "acme/small "]),
  changed(20)("models with an unknown one", { models: ["acme/small", "x/y"] }, "model", `"x/y" ${invalidModel}`),
  changed(20)(
    "a near one",
    { model: "acme/smal" },
    "model",
    /"acme\/smal" is not a valid model ID \(near: acme\/small/,
  ),
  ...values(21, "model", invalidModel, [
    "../../etc",
    "acme/small%00",
    "acme\r\nSet-Cookie: a=b",
    "a\u0000b",
    "a\u2028b",
  ]),
  changed(21)("10,000 characters", { model: "x".repeat(10_000) }, "model", /^model: "x{128}" is not a valid model ID/),
  changed(21)("200 characters", { model: "x".repeat(200) }, "model", /^model: "x{128}\.\.\." is not a valid model ID/),
  changed(22)("models: [] alone", { model: undefined, models: [] }, "models", "must name at least one model"),
  changed(23)("17 models", { models: Array(17).fill("acme/small") }, "models", "must have at most 16 entries, not 17"),
  ...values(24, "models", "must be a non-empty string", [[1], [null], [""]], "models[0]"),
  changed(25)("no messages", { messages: undefined }, "messages", "is required"),
  changed(26)("messages: []", { messages: [] }, "messages", "must have at least one message"),
  ...values(26, "messages", "must be an array", [null, "hi", user]),
  turn(27, { content: "hi" }, ".role", "must be one of system, developer, user, assistant, tool"),
  turn(27, { role: "king", content: "hi" }, ".role", "must be one of system, developer, user, assistant, tool"),
  turn(27, "hi", "", "must be an object"),
  turn(28, { role: "user" }, ".content", "is required"),
  turn(28, { role: "system" }, ".content", "is required"),
  turn(28, { role: "user", content: 5 }, ".content", "must be a string or an array of parts"),
  turn(28, { role: "user", content: true }, ".content", "must be a string or an array of parts"),
  turn(28, { role: "user", content: null }, ".content", "must be a string or an array of parts"),
  turn(28, { role: "assistant", content: false, tool_calls: [call] }, ".content", "must be a string or an array"),
  turn(29, { role: "user", content: [{ type: "hologram" }] }, ".content[0].type", /must be one of text, image_url/),
  turn(29, { role: "user", content: [{ text: "hi" }] }, ".content[0].type", "is required"),
  turn(31, { role: "tool", content: "42" }, ".tool_call_id", "is required"),
  ...values(32, "max_tokens", positive, [0, -1, 1.5, "10", 2 ** 31, "NaN"]),
  written(32, '"max_tokens":1e99', "max_tokens", positive),
  written(32, '"max_tokens":NaN', "", noJson),
  ...values(32, "max_completion_tokens", positive, [0, -1]),
  ...values(33, "temperature", "must be a number from 0 to 2", [3, -0.1, "hot", true]),
  ...values(34, "top_p", "must be a number from 0 to 1", [-0.1, 1.1]),
  ...values(35, "n", "must be an integer from 1 to 8", [0, 1000, 1.5, "2"]),
  ...values(36, "stream", "must be a boolean", ["true", 1]),
  changed(37)("5 stops", { stop: ["a", "b", "c", "d", "e"] }, "stop", "must have at most 4 entries, not 5"),
  changed(37)("a number among the stops", { stop: ["a", 1] }, "stop[1]", "must be a string"),
  changed(37)("a number as stop", { stop: 1 }, "stop", "must be a string or an array of strings"),
  changed(38)("tools: {}", { tools: {} }, "tools", "must be an array"),
  changed(38)("a tool without a name", tool({}), "tools[0].function.name", "is required"),
  changed(38)("a name with spaces", tool({ name: "get weather" }), "tools[0].function.name", "letters, digits"),
  changed(38)(
    "513 tools",
    { tools: Array(513).fill({ type: "x" }) },
    "tools",
    "must have at most 512 entries, not 513",
  ),
  ...values(40, "tool_choice", "must be one of none, auto, required", ["sometimes", 1]),
  changed(41)(
    "yaml",
    { response_format: { type: "yaml" } },
    "response_format.type",
    /must be one of text, json_object/,
  ),
  changed(42)(
    "effort ultra",
    { reasoning: { effort: "ultra" } },
    "reasoning.effort",
    /must be one of max, xhigh, high/,
  ),
  changed(42)(
    "effort and max_tokens together",
    { reasoning: { effort: "high", max_tokens: 100 } },
    "reasoning",
    "either an effort or max_tokens, not both",
  ),
  changed(43)("provider: []", { provider: [] }, "provider", "must be an object"),
  preference(43, "order", "x", "must be an array"),
  preference(43, "order", [1], "must be a non-empty string", "order[0]"),
  changed(43)(
    "65 names in provider.only",
    { provider: { only: Array(65).fill("acme") } },
    "provider.only",
    "must have at most 64 entries, not 65",
  ),
  noHost(44, { only: ["nobody"] }, "only"),
  noHost(45, { only: ["acme"], ignore: ["acme"] }, "ignore"),
  preference(46, "sort", "beauty", "must be one of price"),
  preference(47, "max_price", { prompt: -1 }, price, "max_price.prompt"),
  preference(47, "max_price", { completion: "cheap" }, price, "max_price.completion"),
  preference(47, "max_price", { prompt: "Infinity" }, price, "max_price.prompt"),
  written(47, '"provider":{"max_price":{"prompt":Infinity}}', "", noJson),
  written(47, '"provider":{"max_price":{"prompt":1e999}}', "provider.max_price.prompt", price),
  noHost(48, { max_price: { prompt: 0.5 } }, "max_price"),
  preference(49, "quantizations", ["fp3"], /must be one of int4/, "quantizations[0]"),
  preference(50, "data_collection", "maybe", "must be one of allow, deny"),
  noHost(51, { zdr: true }, "zdr"),
]
