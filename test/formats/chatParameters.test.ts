/** Every row of the table of chat parameters, as each protocol sends it: where the row says, or named as dropped. */
import { describe, expect, test } from "bun:test"
import * as Either from "effect/Either"
import type { Issues } from "../../src/domain/json/checks.ts"
import { isJsonObject, type JsonObject } from "../../src/domain/json/json.ts"
import type { ChatPayload } from "../../src/domain/request/chat.ts"
import {
  type ChatParameter,
  chatParameterRows,
  chatParameters,
  translated,
} from "../../src/domain/request/chatParameters.ts"
import { asksNothing } from "../../src/domain/request/neutralMembers.ts"
import { placedIn } from "../../src/domain/request/placedParameters.ts"
import { chatProtocol } from "../../src/formats/chat/chatHost.ts"
import { generateContentProtocol } from "../../src/formats/generateContent/generateContentHost.ts"
import { messagesProtocol } from "../../src/formats/messages/messagesHost.ts"
import type { Protocol } from "../../src/formats/Protocol.ts"
import { responsesProtocol } from "../../src/formats/responses/responsesHost.ts"
import { chatRequest, host } from "../../src/testing/samples.ts"

const worded = [
  ["messages", messagesProtocol({ thinking: () => "budget" })],
  ["responses", responsesProtocol({})],
  ["generateContent", generateContentProtocol()],
] as const

const candidates: ReadonlyArray<unknown> = [3, true, false, "low", ["text", "image"], { headgate: 1 }]

/** A value that the parameter may have, and that asks for something. */
const valueOf = (name: string, { samples, check }: ChatParameter): unknown =>
  samples?.[0] ??
  candidates.find((value) => {
    const issues: Issues = []
    check?.(value, name, issues)
    return issues.length === 0 && !asksNothing(name, value)
  })

const payloadOf = (members: JsonObject): ChatPayload => ({ messages: [{ role: "user", content: "?" }], ...members })

const sentBy = (protocol: Protocol, members: JsonObject) => {
  const encoded = protocol.encode(chatRequest(false, payloadOf(members)), host)
  const { source, dropped = [] } = Either.getOrThrow(encoded)
  const body = source?.json ?? {}
  const { generationConfig } = body
  return { sent: isJsonObject(generationConfig) ? generationConfig : body, dropped: new Set(dropped) }
}

const rows = chatParameterRows.filter(([, { support, check }]) => support !== "field" && check !== undefined)

/** What must be asked for with it. */
const beside: Readonly<Record<string, JsonObject>> = { top_logprobs: { logprobs: true } }

describe.each(worded)("%s", (protocolName, protocol) => {
  // Functions of the protocol, with tests of their own, write what is translated.
  test.each(rows.filter(([, row]) => row[protocolName] !== translated))("%s", (name, row) => {
    const value = valueOf(name, row)
    const members = { [name]: value, ...beside[name] }
    const { sent, dropped } = sentBy(protocol, members)
    const place = placedIn(protocolName).find((placed) => placed.name === name)
    expect(dropped.has(name)).toBe(place === undefined)
    if (place === undefined) expect(sent[name]).toBeUndefined()
    else expect(sent[place.at]).toEqual(place.as === undefined ? value : place.as(payloadOf(members)))
  })

  test("has one parameter in each place", () => {
    const places = placedIn(protocolName).map(({ at }) => at)
    expect(new Set(places).size).toBe(places.length)
  })
})

describe("hosts of the chat protocol", () => {
  test.each(rows)("%s", (name, row) => {
    const value = valueOf(name, row)
    const { sent } = sentBy(chatProtocol({}), { [name]: value })
    expect(sent[name]).toEqual(value)
    const strict = sentBy(chatProtocol({ strict: true }), { [name]: value })
    const isRefused = row.addition === true
    expect([strict.sent[name], strict.dropped.has(name)]).toEqual([isRefused ? undefined : value, isRefused])
  })
})

test("names in the table are names of rows", () => {
  const names = chatParameterRows.flatMap(([, { listedWith }]) => listedWith ?? [])
  expect(names.filter((name) => !Object.hasOwn(chatParameters, name))).toEqual([])
})
