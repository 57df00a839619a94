/** What no recording shows of a streamed response: calls side by side, and hosts that send an item only whole. */
import { describe, expect, test } from "bun:test"
import * as Either from "effect/Either"
import { HostFailed } from "../../../src/domain/failures/Failure.ts"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { partsInOrder, type Said, withoutOrder } from "../../../src/formats/conversation.ts"
import { responsesProtocol } from "../../../src/formats/responses/responsesHost.ts"
import { call, eventsOf, message, textOfEvents, thought } from "../../support/hosts/responsesHost.ts"
import { hostFor, requestWith } from "../../support/recordings/recordings.ts"
import { chunksOf, context, head, joinedOf } from "./build.ts"

const protocol = responsesProtocol()
const read = (events: ReadonlyArray<JsonObject>) => chunksOf(protocol, new TextEncoder().encode(textOfEvents(events)))

const calls = [call("weather", '{"city":"Rome"}'), call("time", "{}")]

/** The calls that a stream's pieces come to. */
const callsOf = (chunks: ReturnType<typeof read>) => {
  const joined: Array<{ id?: string; name: string; arguments: string }> = []
  for (const { index, id, function: called } of chunks
    .flatMap(({ choices }) => choices)
    .flatMap(({ delta }) => delta.tool_calls ?? [])) {
    joined[index] ??= { ...(id === undefined ? {} : { id }), name: "", arguments: "" }
    const one = joined[index]
    if (one === undefined) continue
    one.name += called?.name ?? ""
    one.arguments += called?.arguments ?? ""
  }
  return joined
}

const expected = calls.map(({ call_id: id, name, arguments: given }) => ({ id, name, arguments: given }))

test("calls have places of their own, whether their pieces come by turns or not at all", () => {
  const events = eventsOf(calls)
  expect(callsOf(read(events))).toEqual(expected as never)
  const byTurns = events.toSorted((a, b) => (Number(a["sequence_number"]) % 3) - (Number(b["sequence_number"]) % 3))
  const added = (event: JsonObject) => event["type"] === "response.output_item.added"
  const deltas = (event: JsonObject) => String(event["type"]).endsWith("arguments.delta")
  const mixed = [...events.filter(added), ...byTurns.filter(deltas), ...events.slice(-1)]
  expect(callsOf(read(mixed)).map(({ name }) => name)).toEqual(["weather", "time"])
  const whole = events.filter((event) => !deltas(event) && !added(event))
  expect(callsOf(read(whole))).toEqual(expected as never)
})

test("an item that comes only whole is passed on at its end, once", () => {
  const cited = { type: "url_citation", url: "https://a.example/", title: "A", start_index: 0, end_index: 5 }
  const said = message("", { content: [{ type: "output_text", text: "About 20.", annotations: [cited] }] })
  const items = [thought("Rome, then.", "c2VjcmV0"), said]
  const all = eventsOf(items)
  const kept = all.filter(({ type }) => !/delta|\.added|part|text\.done/.test(String(type)))
  for (const events of [all, kept]) {
    expect(joinedOf(read(events))).toMatchObject({
      content: "About 20.",
      finish: "stop",
      annotations: [
        { type: "url_citation", url_citation: { url: "https://a.example/", start_index: 0, end_index: 5 } },
      ],
    })
    const { reasoning_details: details } = joinedOf(read(events)) as { reasoning_details: ReadonlyArray<JsonObject> }
    expect(details.map(({ summary }) => summary ?? "").join("")).toBe("Rome, then.")
    expect(details.flatMap(({ data }) => data ?? [])).toEqual(["c2VjcmV0"])
  }
})

describe("what hosts write in their own ways is read whole, and once", () => {
  const added = (item: JsonObject) => ({ type: "response.output_item.added", output_index: 0, item })
  const end = (output: ReadonlyArray<JsonObject>) => ({
    type: "response.completed",
    response: { status: "completed", output },
  })
  const given = '{"city":"Rome"}'
  const begun = call("weather", "")
  const called = [{ id: "call_weather", name: "weather", arguments: given }]
  const place = { output_index: 0, item_id: "fc_weather" }
  const said = (chunks: ReturnType<typeof read>) => joinedOf(chunks)["content"]

  test.each<[what: string, events: ReadonlyArray<JsonObject>]>([
    [
      "in the added item and again as deltas",
      [
        added(call("weather", given)),
        { type: "response.function_call_arguments.delta", ...place, delta: given },
        { type: "response.output_item.done", output_index: 0, item: call("weather", given) },
        end([call("weather", given)]),
      ],
    ],
    ["in the added item only", [added(call("weather", given)), end([])]],
    [
      "in function_call_arguments.done only",
      [
        added(begun),
        { type: "response.function_call_arguments.done", ...place, arguments: given },
        { type: "response.output_item.done", output_index: 0, item: begun },
        end([]),
      ],
    ],
    [
      "as an object",
      [
        added(begun),
        { type: "response.output_item.done", output_index: 0, item: { ...begun, arguments: { city: "Rome" } } },
        end([]),
      ],
    ],
    ["in response.completed only", [end([call("weather", given)])]],
    ["in response.completed only, after the item was added", [added(begun), end([call("weather", given)])]],
  ])("the arguments of a call: %s", (_, events) => {
    expect(callsOf(read(events))).toEqual(called as never)
  })

  test("a call without arguments is given an empty object, unless it was cut off", () => {
    expect(callsOf(read(eventsOf([begun]))).map((one) => one.arguments)).toEqual(["{}"])
    expect(callsOf(read([added(begun), end([])])).map((one) => one.arguments)).toEqual(["{}"])
    const cut = { type: "response.incomplete", response: { status: "incomplete", output: [] } }
    expect(callsOf(read([added(begun), cut])).map((one) => one.arguments)).toEqual([""])
  })

  const words: JsonObject = { ...message("About 20."), content: [{ type: "text", text: "About 20." }] }
  test.each<[what: string, events: ReadonlyArray<JsonObject>]>([
    ["in a part of the type text", [{ type: "response.output_item.done", output_index: 0, item: words }, end([])]],
    ["in response.completed only", [end([message("About 20.")])]],
    [
      "in output_text.done only",
      [
        added(message("")),
        { type: "response.output_text.done", output_index: 0, content_index: 0, text: "About 20." },
        { type: "response.output_item.done", output_index: 0, item: message("About 20.") },
        end([message("About 20.")]),
      ],
    ],
    [
      "in deltas without an item, and in response.completed",
      [{ type: "response.output_text.delta", delta: "About 20." }, end([message("About 20.")])],
    ],
    [
      "at another place in response.completed",
      [
        added(message("")),
        { type: "response.output_text.delta", output_index: 0, content_index: 0, delta: "About 20." },
        { type: "response.output_item.done", output_index: 0, item: message("About 20.") },
        end([thought("x", "eA=="), message("About 20.")]),
      ],
    ],
    ["as the message's content itself", [end([{ ...message(""), content: "About 20." }])]],
  ])("a text: %s", (_, events) => {
    expect(said(read(events))).toBe("About 20.")
  })

  test("whole answers too: arguments as an object or not at all, parts of the type text", () => {
    const output = [words, { ...begun, arguments: { city: "Rome" } }, { ...begun, call_id: "b", arguments: "" }]
    const answer = protocol.decode(head, { status: "completed", output }, context)
    if (answer instanceof HostFailed) throw answer
    const { content, tool_calls: calls } = answer.choices[0]?.message ?? {}
    expect(content).toBe("About 20.")
    expect(calls?.map((one) => one.function.arguments)).toEqual([given, "{}"])
  })
})

describe("the order of an answer's items", () => {
  const reasoning = (id: string, ...texts: ReadonlyArray<string>) => ({
    ...thought("", `sealed ${id}`),
    id,
    summary: texts.map((text) => ({ type: "summary_text", text })),
  })
  const items = [
    reasoning("rs_1", "First,", " then"),
    message("Looking.", { id: "msg_1" }),
    call("weather", '{"city":"Rome"}'),
    reasoning("rs_2"),
    message("One more.", { id: "msg_2" }),
    call("time", "{}"),
  ]
  const whole = () => {
    const answer = protocol.decode(head, { status: "completed", output: items }, context)
    if (answer instanceof HostFailed) throw answer
    return answer.choices[0]?.message
  }
  /** Its parts, with the fragments of a stream joined. */
  const orderOf = (said: Said) =>
    partsInOrder(said).parts.map((part) => {
      if (part.type === "content") return part.content.type === "text" && part.content.text
      if (part.type === "call") return part.call.id
      return [
        part.details[0]?.id,
        part.details.map(({ summary }) => summary ?? "").join(""),
        part.details.map(({ data }) => data ?? "").join(""),
      ]
    })
  const order = [
    ["rs_1", "First, then", "sealed rs_1"],
    "Looking.",
    "call_weather",
    ["rs_2", "", "sealed rs_2"],
    "One more.",
    "call_time",
  ]

  test("is known from a whole answer, and from a streamed one, with a number for each summary", () => {
    expect(orderOf(whole() as Said)).toEqual(order)
    const chunks = read(eventsOf(items))
    const { content, reasoning_details: details } = joinedOf(chunks)
    const calls = callsOf(chunks).map(({ id, ...called }) => ({ id, type: "function", function: called }))
    const streamed = { content, reasoning_details: details, tool_calls: calls } as unknown as Said
    expect(orderOf(streamed)).toEqual(order)
    const numbers = withoutOrder(whole()?.reasoning_details ?? []).map(({ index }) => index)
    expect(numbers).toEqual([0, 1, 0, 4])
    expect(new Set(withoutOrder(streamed.reasoning_details ?? []).map(({ index }) => index))).toEqual(
      new Set([0, 1, 4]),
    )
  })

  test("goes back to such a host as it was said", () => {
    const request = requestWith({ messages: [{ role: "user", content: "hi" }, whole()] })
    const encoded = Either.getOrThrow(protocol.encode(request, hostFor("m")))
    const { input } = JSON.parse(String(encoded.body))
    expect(input.slice(1).map((item: JsonObject) => item["id"] ?? item["call_id"] ?? item["content"])).toEqual([
      "rs_1",
      "Looking.",
      "call_weather",
      "rs_2",
      "One more.",
      "call_time",
    ])
    expect(input[1].summary).toEqual(items[0]?.["summary" as never])
    expect(encoded.dropped).toEqual([])
  })

  test("that a caller has lost is named, and encrypted reasoning still goes back", () => {
    const message = whole()
    const details = withoutOrder(message?.reasoning_details ?? [])
    const request = requestWith({
      messages: [
        { role: "user", content: "hi" },
        { ...message, reasoning_details: details },
      ],
    })
    const encoded = Either.getOrThrow(protocol.encode(request, hostFor("m")))
    expect(encoded.dropped).toEqual(["order"])
    const { input } = JSON.parse(String(encoded.body))
    expect(input.slice(1).map(({ type }: JsonObject) => type)).toEqual([
      ...["reasoning", "reasoning", "message", "function_call", "function_call"],
    ])
  })
})
