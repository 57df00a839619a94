/** Recorded streams of every vendor of the form, as they pass to a caller who speaks it: nothing of them is refused or changed. */
import { describe, expect, test } from "bun:test"
import { noCost } from "../../../src/domain/price/price.ts"
import { noUsage } from "../../../src/domain/price/Usage.ts"
import { responsesProtocol } from "../../../src/formats/responses/responsesHost.ts"
import { responseWriter } from "../../../src/formats/responses/responsesStream.ts"
import { ToolNames } from "../../../src/formats/responses/responsesToolNames.ts"
import { HostStream } from "../../../src/formats/stream/HostStream.ts"
import { answerNames } from "../../support/formats/answerNames.ts"
import { bytesOf, hostFor, recordings, requestWith, splits } from "../../support/recordings/recordings.ts"

const host = hostFor("name-at-the-host")
const names = {
  ...answerNames("acme/small"),
  suffix: "1790000000-0123456789abcdefghij",
  hidesReasoning: false,
  echo: {},
  tools: new ToolNames({}),
}
const charge = { usage: noUsage, cost: noCost, upstream: noCost, waived: null, estimated: false }
const head = { status: 200, headers: new Headers() }

const streamed = recordings("openai-responses").filter(
  ({ response, categories }) => response.raw !== undefined && !categories.includes("error-midstream"),
)

describe("recorded streams", () => {
  for (const found of streamed) {
    for (const { name, pieces } of splits(bytesOf(found), 11)) {
      test(`${found.id}, ${name}`, () => {
        const writer = responseWriter(names, host)
        const protocol = responsesProtocol()
        const stream = new HostStream({
          framing: "sse",
          transparent: false,
          native: true,
          decoder: protocol.decoder(head, { request: requestWith({}), host }),
          writer,
          excludeReasoning: false,
          choices: 1,
        })
        let text = ""
        for (const piece of pieces) text += stream.push(piece)
        text += stream.end()
        expect([stream.state, stream.failure]).toEqual(["ended", undefined])
        // Not by our own grammar: hosts encrypt reasoning anew in the last event, for one.
        const eventsIn = (written: string) =>
          written
            .split("\n")
            .filter((line) => line.startsWith("data: {"))
            .map((line) => JSON.parse(line.slice(6)))
        const events = eventsIn(text + writer.finish(stream.finish(), charge))
        const sent = eventsIn(found.response.raw ?? "")
        const between = (all: ReadonlyArray<{ readonly [member: string]: unknown }>) =>
          all.filter((event) => event["response"] === undefined)
        expect(between(events)).toEqual(between(sent))
        expect(events.length).toBe(sent.length)
        expect(events.at(-1)?.["type"]).toBe(sent.at(-1)?.type)
        // As text: JSON has a zero with a sign, and is written without it.
        expect(JSON.stringify(events.at(-1)?.["response"].output)).toBe(JSON.stringify(sent.at(-1)?.response.output))
      })
    }
  }
})
