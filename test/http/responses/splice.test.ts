/** Plain text deltas of hosts of the chat form are exchanged without being parsed: the caller gets the same. */
import { expect, test } from "bun:test"
import * as FastCheck from "effect/FastCheck"
import { noCost } from "../../../src/domain/price/price.ts"
import { noUsage } from "../../../src/domain/price/Usage.ts"
import { chatDecoder } from "../../../src/formats/chat/chatStream.ts"
import { responseWriter } from "../../../src/formats/responses/responsesStream.ts"
import { ToolNames } from "../../../src/formats/responses/responsesToolNames.ts"
import { HostStream } from "../../../src/formats/stream/HostStream.ts"
import { readResponsesStream } from "../../../src/testing/grammar/responses.ts"
import { answerNames } from "../../support/formats/answerNames.ts"
import { bytesOfScript, cutAt, Scripts } from "../../support/hosts/hostScript.ts"

const names = {
  ...answerNames("m"),
  suffix: "x",
  echo: {},
  tools: new ToolNames({}),
  hidesReasoning: false,
}
const charge = { usage: noUsage, cost: noCost, upstream: noCost, waived: null, estimated: false }

const read = (chunks: ReadonlyArray<Uint8Array>, transparent: boolean): string => {
  const writer = responseWriter(names, undefined)
  const options = {
    framing: "sse",
    transparent,
    decoder: chatDecoder({}, "m"),
    writer,
    excludeReasoning: false,
    choices: 1,
  } as const
  const stream = new HostStream(options)
  const text = chunks.map((chunk) => stream.push(chunk)).join("") + stream.end()
  return (
    text + (stream.state === "ended" ? writer.finish(stream.finish(), charge) : writer.failure(undefined, undefined))
  )
}

test("whatever a host says and however it writes it", () => {
  FastCheck.assert(
    FastCheck.property(Scripts, FastCheck.array(FastCheck.nat(), { maxLength: 5 }), (script, cuts) => {
      const chunks = cutAt(bytesOfScript({ ...script, choices: 1 }), cuts)
      const spliced = read(chunks, true)
      expect(spliced).toBe(read(chunks, false))
      readResponsesStream(spliced)
    }),
    { numRuns: 500 },
  )
})
