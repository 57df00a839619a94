/** What a caller of the Responses form reads: strictly, so that a test fails where a client would. */
import { expect } from "bun:test"
import { isJsonObject, type JsonObject } from "../../../src/domain/json/json.ts"
import { readResponsesStream } from "../../../src/testing/grammar/responses.ts"

export interface ResponsesStream {
  readonly events: ReadonlyArray<JsonObject>
  /** The types of its events, those that follow each other once. */
  readonly types: ReadonlyArray<string>
  /** The response of the last event. */
  readonly response: JsonObject
}

/** A whole stream, checked by the grammar. */
export const readResponses = (text: string): ResponsesStream => {
  const events = readResponsesStream(text)
  const types = events.map(({ type }) => String(type)).filter((type, at, all) => type !== all[at - 1])
  const response = events.at(-1)?.["response"]
  if (!isJsonObject(response)) throw new Error("no response at the end")
  return { events, types, response }
}

export const responsesStreamOf = async (answer: Response): Promise<ResponsesStream> => {
  expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "text/event-stream"])
  return readResponses(await answer.text())
}

/** The body of a whole answer. */
export const responseOf = async (answer: Response): Promise<JsonObject> => {
  const body: unknown = await answer.json()
  expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "application/json"])
  if (!isJsonObject(body)) throw new Error("a body that is no object")
  return body
}

/** `POST /responses` of this body. */
export const postResponses = (
  gateway: { readonly call: (path: string, init?: RequestInit) => Promise<Response> },
  body: JsonObject,
  headers: Record<string, string> = {},
): Promise<Response> =>
  gateway.call("/responses", {
    method: "POST",
    body: JSON.stringify({ model: "acme/small", input: "hi", ...body }),
    headers: { "content-type": "application/json", ...headers },
  })
