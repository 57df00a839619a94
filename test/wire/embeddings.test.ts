/** Recorded embeddings through the protocol: every vector arrives as the vendor sent it. */
import { describe, expect, test } from "bun:test"
import * as Either from "effect/Either"
import { inputsOf } from "../../src/domain/Embeddings.ts"
import { HostFailed } from "../../src/domain/Failure.ts"
import { isJsonObject } from "../../src/domain/Json.ts"
import type { EmbeddingsRequest } from "../../src/domain/Request.ts"
import { decodeEmbeddings } from "../../src/http/data/embeddings/decode.ts"
import { embeddingsProtocol } from "../../src/wire/embeddings.ts"
import { httpError } from "../../src/wire/httpError.ts"
import { reporting } from "../support/recordedTable.ts"
import { bodyOf, hostFor, recordings, recordingsPresent } from "../support/recordings.ts"

const head = { status: 200, headers: new Headers() }

const requestOf = (body: unknown): EmbeddingsRequest =>
  Either.getOrThrow(decodeEmbeddings(isJsonObject(body) ? body : {}, JSON.stringify(body).length))

describe.skipIf(!recordingsPresent())("recordings", () => {
  const cases = recordings("openai-embeddings")
  const protocol = embeddingsProtocol()

  test.each(cases.filter(({ response }) => response.status === 200).map((one) => [one.id, one] as const))(
    "%s",
    (_id, recorded) =>
      reporting(recorded, () => {
        const request = requestOf(recorded.request?.body)
        const sent = Either.getOrThrow(protocol.encode(request, hostFor("upstream")))
        const { model: _, ...members } = isJsonObject(recorded.request?.body) ? recorded.request.body : {}
        expect(JSON.parse(String(sent.body))).toEqual({ ...members, model: "upstream" })
        const body = bodyOf(recorded)
        if (!isJsonObject(body) || !Array.isArray(body["data"]) || !isJsonObject(body["usage"]))
          throw new Error("no answer")
        const answer = protocol.decode(head, body, request)
        if (answer instanceof HostFailed) throw answer
        expect(answer.data).toHaveLength(inputsOf(request.payload.input).length)
        expect(answer.data.map(({ index, embedding }) => ({ index, embedding }))).toEqual(
          body["data"].map(({ index, embedding }) => ({ index, embedding })),
        )
        expect(answer.usage).toMatchObject({ prompt_tokens: body["usage"]["prompt_tokens"], completion_tokens: 0 })
      })(),
  )

  test.each(cases.filter(({ response }) => response.status !== 200).map((one) => [one.id, one] as const))(
    "%s",
    (_id, recorded) =>
      reporting(recorded, () => {
        const { status } = recorded.response
        const failure = httpError(status, new Headers(), bodyOf(recorded))
        const reasons: Readonly<Record<number, string>> = { 401: "account", 404: "not-found", 500: "overloaded" }
        expect(failure.reason).toBe(reasons[status] as typeof failure.reason)
      })(),
  )
})
