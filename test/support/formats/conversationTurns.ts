/** Conversations between a client and a host, turn by turn, through the formats and protocols of the gateway. */
import { expect } from "bun:test"
import * as Either from "effect/Either"
import { HostFailed } from "../../../src/domain/failures/Failure.ts"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import type { Charge } from "../../../src/domain/money/Charge.ts"
import { noCost } from "../../../src/domain/price/price.ts"
import { noUsage } from "../../../src/domain/price/Usage.ts"
import type { Protocol } from "../../../src/formats/Protocol.ts"
import { HostStream } from "../../../src/formats/stream/HostStream.ts"
import { Target } from "../../../src/formats/Target.ts"
import { eventStreamEvent } from "../../../src/testing/eventStream.ts"
import { hostFor } from "../recordings/recordings.ts"
import { answerNames } from "./answerNames.ts"
import { type Client, chatUser } from "./conversationClients.ts"
import type { Block, Family } from "./families/Family.ts"

const names = answerNames()
const charge: Charge = { usage: noUsage, cost: noCost, upstream: noCost, waived: null, estimated: false }
const head = { status: 200, headers: new Headers() }
const noHeaders = new Headers()
const target = new Target("/api/v1/chat/completions", "http://127.0.0.1/api/v1/chat/completions")

const requestOf = ({ format, ask, target: own = target }: Client, conversation: ReadonlyArray<JsonObject>) => {
  const body = { model: "acme/small", ...ask, [format.prompt]: conversation }
  const decoded = format.decode(body, noHeaders, own)
  if (Either.isLeft(decoded)) throw new Error(JSON.stringify(decoded.left.issues))
  return decoded.right
}

const bytesFor = ({ framing }: Protocol, [name, data]: readonly [string, JsonObject]): Uint8Array =>
  framing === "aws-eventstream"
    ? eventStreamEvent(name, JSON.stringify(data))
    : Buffer.from(`${name === "" ? "" : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`)

/** How the host and the gateway answer. `wholeToStream`: the host gave no stream although the client asked for one. */
export type Mode = "whole" | "streamed" | "wholeToStream"

/**
 * The conversation after an answer of a host with these blocks, with the results of its calls or a further question.
 */
export const afterTurn = (
  { protocol, model, ...family }: Family,
  client: Client,
  before: ReadonlyArray<JsonObject>,
  blocks: ReadonlyArray<Block>,
  mode: Mode,
): ReadonlyArray<JsonObject> => {
  const { format } = client
  const host = hostFor(model)
  const request = requestOf(client, before)
  const isNative = protocol.native?.form === format.name
  const whole = () => {
    const read = protocol.decode(head, family.whole(blocks), { request, host })
    if (read instanceof HostFailed) throw read
    return read
  }
  let answer: JsonObject
  if (mode === "whole") {
    const written = format.answer(names, request)(host, whole(), isNative ? family.whole(blocks) : undefined)
    answer = JSON.parse(String(written(charge)))
  } else {
    const writer = format.stream(names, request, client.target ?? target)(host)
    const stream = new HostStream({
      ...{ framing: protocol.framing, transparent: false, decoder: protocol.decoder(head, { request, host }) },
      ...{ writer, excludeReasoning: false, choices: 1 },
      native: mode === "streamed" && isNative && writer.native !== undefined,
    })
    let text = ""
    if (mode === "wholeToStream") text = stream.whole(whole())
    else for (const event of family.events(blocks)) text += stream.push(bytesFor(protocol, event))
    if (mode === "streamed") text += stream.end()
    if (stream.state !== "ended") throw new Error(`the stream ${stream.state}: ${String(stream.failure?.cause)}`)
    text += writer.finish(stream.finish(), charge)
    const events = [...text.matchAll(/^data: (\{.*)$/gm)].map(([, json]) => JSON.parse(json ?? ""))
    answer = client.collected(events)
  }
  const calls = blocks.flatMap((block) => (block.kind === "call" ? [block.id] : []))
  const { user = chatUser } = client
  return [...before, ...client.said(answer), ...(calls.length === 0 ? [user("Go on.")] : client.results(calls))]
}

/** What a host gets with a conversation, whose order is not lost. */
export const sentTo = ({ protocol, model }: Family, client: Client, conversation: ReadonlyArray<JsonObject>) => {
  const host = hostFor(model)
  const request = requestOf(client, conversation)
  const { native } = protocol
  const encoded =
    native?.form === client.format.name && request.native !== undefined
      ? native.encode(request, request.native, host)
      : protocol.encode(request, host)
  if (Either.isLeft(encoded)) throw new Error(JSON.stringify(encoded.left))
  const { body, dropped = [] } = encoded.right
  expect(dropped).not.toContain("order")
  const json: JsonObject = JSON.parse(typeof body === "string" ? body : new TextDecoder().decode(body))
  return { json, dropped }
}

/** The turns of the assistant in it. */
export const turnsAt = (family: Family, client: Client, conversation: ReadonlyArray<JsonObject>) =>
  family.given(sentTo(family, client, conversation).json)

export const question = ({ user = chatUser }: Client): ReadonlyArray<JsonObject> => [user("How is the weather?")]
