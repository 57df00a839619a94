/** A recorded stream, cut into frames and read as the gateway does it. */

import type { Decoder, Protocol } from "../../formats/Protocol.ts"
import { HostStream } from "../../formats/stream/HostStream.ts"
import { frameReader } from "../../wire/Framing.ts"
import { parsed } from "../requests/Sent.ts"
import { contextOf, head } from "../samples.ts"
import type { StreamSample } from "../subject.ts"

export const bytesOf = ({ bytes }: Pick<StreamSample, "bytes">): Uint8Array =>
  typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes

export type Event = readonly [name: string, data: unknown]

/** The events in a stream's bytes that are JSON. */
export const eventsOf = ({ framing }: Protocol, sample: StreamSample): ReadonlyArray<Event> => {
  const reader = frameReader(framing)
  const frames = [...reader.push(bytesOf(sample)), ...reader.end()]
  return frames.flatMap(({ name, data }): ReadonlyArray<Event> => {
    const json = parsed(data)
    return json === undefined ? [] : [[name, json]]
  })
}

/** The stream in pieces that each end a frame; the last one may have no end. */
export const piecesOf = ({ framing }: Protocol, sample: StreamSample): ReadonlyArray<Uint8Array> => {
  const bytes = bytesOf(sample)
  const reader = frameReader(framing)
  const pieces: Array<Uint8Array> = []
  let from = 0
  for (let at = 0; at < bytes.length; at++) {
    if (reader.push(bytes.subarray(at, at + 1)).length === 0) continue
    pieces.push(bytes.subarray(from, at + 1))
    from = at + 1
  }
  return from === bytes.length ? pieces : [...pieces, bytes.subarray(from)]
}

/** The gateway's reader of a stream of one answer. Nothing of it is written for a caller. */
export const streamOf = (protocol: Protocol, decoder: Decoder = protocol.decoder(head, contextOf(true))): HostStream =>
  new HostStream({
    framing: protocol.framing,
    usage: protocol.usage,
    usageAfterError: protocol.usageAfterError,
    decoder,
    writer: { chunk: () => "" },
    transparent: false,
    excludeReasoning: false,
    choices: 1,
  })
