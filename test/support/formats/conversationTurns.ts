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
import type { Block, Family, Speaker } from "./families/Family.ts"

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

/** The answer of a host with these blocks, as the client has it in the end. */
export const answered = (
  { protocol, model, ...family }: Speaker,
  client: Client,
  before: ReadonlyArray<JsonObject>,
  blocks: ReadonlyArray<Block>,
  mode: Mode,
): JsonObject => {
  const { format } = client
  const host = hostFor(model)
  const request = requestOf(client, before)
  const isNative = protocol.native?.form === format.name
  const whole = () => {
    const read = protocol.decode(head, family.whole(blocks), { request, host })
    if (read instanceof HostFailed) throw read
    return read
  }
  if (mode === "whole") {
    const written = format.answer(names, request)(host, whole(), isNative ? family.whole(blocks) : undefined)
    return JSON.parse(String(written(charge)))
  }
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
  return client.collected([...text.matchAll(/^data: (\{.*)$/gm)].map(([, json]) => JSON.parse(json ?? "")))
}

/**
 * The conversation after an answer of a host with these blocks, with the results of its calls or a further question.
 */
export const afterTurn = (
  speaker: Speaker,
  client: Client,
  before: ReadonlyArray<JsonObject>,
  blocks: ReadonlyArray<Block>,
  mode: Mode,
): ReadonlyArray<JsonObject> => {
  const answer = answered(speaker, client, before, blocks, mode)
  const calls = blocks.flatMap((block) => (block.kind === "call" ? [block.id] : []))
  const { user = chatUser } = client
  return [...before, ...client.said(answer), ...(calls.length === 0 ? [user("Go on.")] : client.results(calls))]
}

/** What a host gets with a conversation, or why it gets nothing. Paths are those of the client. */
export const encodedFor = (
  { protocol, model }: Pick<Family, "protocol" | "model">,
  client: Client,
  conversation: ReadonlyArray<JsonObject>,
) => {
  const host = hostFor(model)
  const request = requestOf(client, conversation)
  const { native } = request
  const isNative = native !== undefined && protocol.native?.form === native.form
  const encoded = isNative ? protocol.native.encode(request, native, host) : protocol.encode(request, host)
  return Either.mapBoth(encoded, {
    onLeft: (left) => ({ path: native?.pathOf(left.path) ?? left.path, reason: left.reason }),
    onRight: ({ body, dropped = [] }) => {
      const json: JsonObject = JSON.parse(typeof body === "string" ? body : new TextDecoder().decode(body))
      return { json, dropped: isNative ? dropped : [...dropped, ...(native?.untranslated ?? [])] }
    },
  })
}

/** What a host gets with a conversation, whose order is not lost. */
export const sentTo = (...given: Parameters<typeof encodedFor>) => {
  const encoded = encodedFor(...given)
  if (Either.isLeft(encoded)) throw new Error(JSON.stringify(encoded.left))
  expect(encoded.right.dropped).not.toContain("order")
  return encoded.right
}

/** The turns of the assistant in it. */
export const turnsAt = (family: Family, client: Client, conversation: ReadonlyArray<JsonObject>) =>
  family.given(sentTo(family, client, conversation).json)

export const question = ({ user = chatUser }: Client): ReadonlyArray<JsonObject> => [user("How is the weather?")]
