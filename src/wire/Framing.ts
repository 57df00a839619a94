/** The framings that a protocol can choose from. */
import { awsEventStreamReader } from "./framing/awsEventStream.ts"
import { type FrameReader, longestFrame } from "./framing/FrameReader.ts"
import { jsonArrayReader } from "./framing/jsonArray.ts"
import { ndjsonReader } from "./framing/ndjson.ts"
import { sseReader } from "./framing/sse.ts"

const readers = {
  sse: sseReader,
  ndjson: ndjsonReader,
  "json-array": jsonArrayReader,
  "aws-eventstream": awsEventStreamReader,
} satisfies Record<string, (longest: number) => FrameReader>

/**
 * How the bytes of a streamed answer are cut into frames, each with a name and JSON. The gateway does it, not the
 * protocol.
 */
export type Framing = keyof typeof readers

export const isFraming = (value: unknown): value is Framing =>
  typeof value === "string" && Object.hasOwn(readers, value)

/** A reader for one stream, whose frames have at most `longest` UTF-16 units, or bytes where the format is binary. */
export const frameReader = (framing: Framing, longest = longestFrame): FrameReader => readers[framing](longest)
