/** What no recording shows of a streamed response: calls side by side, and hosts that send an item only whole. */
import { expect, test } from "bun:test"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { responsesProtocol } from "../../../src/formats/responses/responsesHost.ts"
import { call, eventsOf, message, textOfEvents, thought } from "../../support/hosts/responsesHost.ts"
import { chunksOf, joinedOf } from "./build.ts"

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
