/** Writes messages of Amazon's event streams (`wire/framing/awsEventStream.ts`), for samples of streams. */
import { crc32 } from "node:zlib"

/** A message with these headers, all of which are text. */
export const eventStreamMessage = (headers: Readonly<Record<string, string>>, payload: string): Uint8Array => {
  const written = Object.entries(headers).map(([name, value]) =>
    Buffer.concat([
      Uint8Array.of(Buffer.byteLength(name)),
      Buffer.from(name),
      Uint8Array.of(textKind, Buffer.byteLength(value) >> 8, Buffer.byteLength(value) & 0xff),
      Buffer.from(value),
    ]),
  )
  const headerLength = written.reduce((sum, { length }) => sum + length, 0)
  const prelude = numbers(headerLength + Buffer.byteLength(payload) + 16, headerLength)
  const message = Buffer.concat([prelude, numbers(crc32(prelude)), ...written, Buffer.from(payload)])
  return Uint8Array.from(Buffer.concat([message, numbers(crc32(message))]))
}

/** An event with this name and JSON. */
export const eventStreamEvent = (name: string, json: string): Uint8Array =>
  eventStreamMessage({ ":event-type": name, ":content-type": "application/json", ":message-type": "event" }, json)

const textKind = 7

const numbers = (...values: ReadonlyArray<number>): Buffer => {
  const bytes = Buffer.alloc(4 * values.length)
  for (const [at, value] of values.entries()) bytes.writeUInt32BE(value, 4 * at)
  return bytes
}
