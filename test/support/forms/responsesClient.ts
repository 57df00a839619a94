/** Callers of the Responses form. */
import { isJsonObject, type JsonObject } from "../../../src/domain/json/json.ts"
import { readResponsesStream } from "../../../src/testing/grammar/responses.ts"
import { type ClientForm, userContent } from "./ClientForm.ts"
import { chatFailed } from "./choicesClients.ts"
import { type Heard, inputOf, numberIn, objectIn, objectsIn, type Part, present, textIn } from "./script.ts"

const responsesPart = (part: Part): JsonObject => {
  switch (part.kind) {
    case "text":
      return { type: "input_text", text: part.text }
    case "image":
      return { type: "input_image", image_url: part.url }
    case "file":
      return { type: "input_file", filename: part.name, file_data: part.data }
    case "audio":
      return { type: "input_audio", input_audio: { data: part.data, format: part.format } }
    case "video":
      return { type: "input_video", video_url: part.url }
    case "stored":
      return { type: "input_file", file_id: part.id }
  }
}

const responsesHeard = (body: JsonObject): Heard => {
  const output = objectsIn(body["output"])
  const of = (type: string) => output.filter((item) => item["type"] === type)
  const texts = (items: ReadonlyArray<JsonObject>, list: string, type: string, member: string) =>
    items
      .flatMap((item) => objectsIn(item[list]))
      .map((part) => (part["type"] === type ? textIn(part[member]) : ""))
      .join("")
  const thoughts = of("reasoning")
  const usage = objectIn(body["usage"])
  const { reason } = objectIn(body["incomplete_details"])
  return {
    reasoning: thoughts
      .map(
        (item) => texts([item], "summary", "summary_text", "text") + texts([item], "content", "reasoning_text", "text"),
      )
      .join(""),
    text: texts(of("message"), "content", "output_text", "text"),
    refusal: texts(of("message"), "content", "refusal", "refusal"),
    calls: of("function_call").map((call) => ({
      id: textIn(call["call_id"]),
      name: textIn(call["name"]),
      input: inputOf(call["arguments"]),
    })),
    end: textIn(reason ?? body["status"]),
    counts: {
      prompt: numberIn(usage["input_tokens"]),
      cached: numberIn(objectIn(usage["input_tokens_details"])["cached_tokens"]),
      completion: numberIn(usage["output_tokens"]),
      reasoning: numberIn(objectIn(usage["output_tokens_details"])["reasoning_tokens"]),
    },
    cost: numberIn(usage["cost"]),
    model: textIn(body["model"]),
  }
}

export const responsesClient: ClientForm = {
  name: "responses",
  path: "/responses",
  isChat: true,
  choices: 1,
  ends: {
    stop: "completed",
    length: "max_output_tokens",
    tool_calls: "completed",
    content_filter: "content_filter",
  },
  body: ({ turns, tools, stop, schema, temperature }) =>
    present({
      input: turns.flatMap((turn): ReadonlyArray<JsonObject> => {
        if (turn.role === "assistant") return turn.items
        if (turn.role === "result") return [{ type: "function_call_output", call_id: turn.id, output: turn.text }]
        return [{ role: turn.role, content: userContent(turn.parts, responsesPart) }]
      }),
      tools: tools?.map((tool) => ({ type: "function", ...tool })),
      stop,
      text:
        schema === undefined ? undefined : { format: { type: "json_schema", name: "answer", schema, strict: true } },
      temperature,
    }),
  several: (n) => ({ n }),
  given: (answer) => objectsIn(answer["output"]),
  assembled: (stream) => objectIn(readResponsesStream(stream).at(-1)?.["response"]),
  same: (body) => {
    const suffix = textIn(body["id"]).slice("resp_".length)
    const text = JSON.stringify({ ...body, created_at: 0, completed_at: 0 }).replaceAll(suffix, "SUFFIX")
    const read: unknown = JSON.parse(text)
    return read
  },
  heard: (body) => [responsesHeard(body)],
  failed: chatFailed,
  broken: (body) =>
    isJsonObject(body["error"])
      ? { type: textIn(body["error_type"]), message: textIn(body["error"]["message"]) }
      : undefined,
  partOf: responsesPart,
}
