/** Hosts of the Responses form: whole answers and streams, made of the same items. */
import type { JsonObject } from "../../../src/domain/json/json.ts"

export const hostUsage = {
  input_tokens: 20,
  input_tokens_details: { cached_tokens: 6, cache_write_tokens: 4 },
  output_tokens: 12,
  output_tokens_details: { reasoning_tokens: 5 },
  total_tokens: 32,
}

/** A response object as such a host writes it. */
export const responseObject = (output: ReadonlyArray<JsonObject>, more: JsonObject = {}): JsonObject => ({
  id: "resp_host",
  object: "response",
  created_at: 1_790_000_000,
  status: "completed",
  error: null,
  incomplete_details: null,
  model: "name-at-the-host-2026-09-01",
  output,
  service_tier: "default",
  store: false,
  usage: hostUsage,
  future: { of: "the response" },
  ...more,
})

export const message = (text: string, more: JsonObject = {}): JsonObject => ({
  id: "msg_host",
  type: "message",
  status: "completed",
  role: "assistant",
  content: [{ type: "output_text", annotations: [], logprobs: [], text }],
  ...more,
})

export const thought = (summary: string, encrypted: string): JsonObject => ({
  id: "rs_host",
  type: "reasoning",
  summary: summary === "" ? [] : [{ type: "summary_text", text: summary }],
  encrypted_content: encrypted,
})

export const call = (name: string, given: string): JsonObject => ({
  id: `fc_${name}`,
  type: "function_call",
  status: "completed",
  call_id: `call_${name}`,
  name,
  arguments: given,
})

export const search: JsonObject = {
  id: "ws_host",
  type: "web_search_call",
  status: "completed",
  action: { type: "search", query: "weather in Rome" },
}

const halves = (text: string) => [text.slice(0, Math.ceil(text.length / 2)), text.slice(Math.ceil(text.length / 2))]

type Text = ReadonlyArray<{ readonly type?: string; readonly text: string; readonly annotations?: unknown }>

const eventsOfItem = (item: JsonObject, at: number): ReadonlyArray<JsonObject> => {
  const place = { item_id: item["id"], output_index: at }
  const begun: Record<string, unknown> = { ...item, status: "in_progress" }
  const events: Array<JsonObject> = []
  if (item["type"] === "function_call") {
    begun["arguments"] = ""
    for (const delta of halves(String(item["arguments"])))
      events.push({ type: "response.function_call_arguments.delta", ...place, delta })
    events.push({ type: "response.function_call_arguments.done", ...place, arguments: item["arguments"] })
  }
  if (item["type"] === "custom_tool_call") {
    begun["input"] = ""
    for (const delta of halves(String(item["input"])))
      events.push({ type: "response.custom_tool_call_input.delta", ...place, delta })
    events.push({ type: "response.custom_tool_call_input.done", ...place, input: item["input"] })
  }
  if (item["type"] === "message") {
    begun["content"] = []
    for (const [index, part] of (item["content"] as Text).entries()) {
      const where = { ...place, content_index: index }
      events.push({ type: "response.content_part.added", ...where, part: { ...part, text: "" } })
      for (const delta of halves(part.text))
        events.push({ type: "response.output_text.delta", ...where, delta, logprobs: [] })
      events.push({ type: "response.output_text.done", ...where, text: part.text, logprobs: [] })
      events.push({ type: "response.content_part.done", ...where, part })
    }
  }
  if (item["type"] === "reasoning") {
    begun["summary"] = []
    begun["encrypted_content"] = "not the last word"
    for (const [index, part] of (item["summary"] as Text).entries()) {
      const where = { ...place, summary_index: index }
      const made = { type: "summary_text", text: "" }
      events.push({ type: "response.reasoning_summary_part.added", ...where, part: made })
      for (const delta of halves(part.text))
        events.push({ type: "response.reasoning_summary_text.delta", ...where, delta })
      events.push({ type: "response.reasoning_summary_text.done", ...where, text: part.text })
      events.push({ type: "response.reasoning_summary_part.done", ...where, part })
    }
  }
  return [
    { type: "response.output_item.added", output_index: at, item: begun },
    ...events,
    { type: "response.output_item.done", output_index: at, item },
  ]
}

/** The events of a streamed answer, numbered. */
export const eventsOf = (output: ReadonlyArray<JsonObject>, more: JsonObject = {}): ReadonlyArray<JsonObject> => {
  const whole = responseObject(output, more)
  const started = { ...whole, status: "in_progress", output: [], usage: null, incomplete_details: null }
  return [
    { type: "response.created", response: started },
    { type: "response.in_progress", response: started },
    ...output.flatMap(eventsOfItem),
    { type: `response.${whole["status"]}`, response: whole },
  ].map((event, number) => ({ ...event, sequence_number: number }))
}

export const textOfEvents = (events: ReadonlyArray<JsonObject>): string =>
  events.map((event) => `event: ${event["type"]}\ndata: ${JSON.stringify(event)}\n\n`).join("")

export const streamOf = (events: ReadonlyArray<JsonObject>): Response =>
  new Response(textOfEvents(events), { headers: { "content-type": "text/event-stream; charset=utf-8" } })
