/** Recorded embeddings through each vendor's plugin: every vector arrives as the vendor sent it. */
import { describe, expect, test } from "bun:test"
import * as Either from "effect/Either"
import { HostFailed } from "../../../src/domain/failures/Failure.ts"
import type { HostReason } from "../../../src/domain/failures/HostReason.ts"
import { isJsonObject } from "../../../src/domain/json/json.ts"
import { type EmbeddingsRequest, inputsOf } from "../../../src/domain/request/embeddings.ts"
import { decodeEmbeddings } from "../../../src/formats/embeddings/embeddingsRequest.ts"
import { providerOfPlugin } from "../../support/hosts/providers.ts"
import { providerOf, reporting } from "../../support/recordings/recordedTable.ts"
import { bodyOf, hostFor, recordings, recordingsPresent } from "../../support/recordings/recordings.ts"

const head = { status: 200, headers: new Headers() }

const requestOf = (body: unknown): EmbeddingsRequest =>
  Either.getOrThrow(decodeEmbeddings(isJsonObject(body) ? body : {}))

/** The vectors as numbers, of the one vendor whose vectors are base64 of signed bytes. */
const vectorOf = (vendor: string, embedding: string | ReadonlyArray<number>): string | ReadonlyArray<number> =>
  vendor === "perplexity" ? [...new Int8Array(Buffer.from(String(embedding), "base64"))] : embedding

const reasons: Readonly<Record<string, HostReason>> = {
  "401": "account",
  "404": "not-found",
  // The input is too large for the server's batch: llama.cpp says so with 500.
  "500": "request",
}

describe.skipIf(!recordingsPresent())("recordings", () => {
  for (const recorded of recordings("openai-embeddings")) {
    const { status } = recorded.response
    const vendor = providerOf(recorded)
    const check = async () => {
      const { embeddings: protocol, error } = await providerOfPlugin(vendor)
      if (status !== 200) {
        expect(error(status, new Headers(), bodyOf(recorded)).reason).toBe(reasons[status] ?? "malformed")
        return
      }
      const request = requestOf(recorded.request?.body)
      const encoded = protocol?.encode(request, hostFor("upstream"))
      if (protocol === undefined || encoded === undefined) throw new Error("no embeddings")
      const sent = Either.getOrThrow(encoded)
      const { model: _, ...members } = isJsonObject(recorded.request?.body) ? recorded.request.body : {}
      expect(`${recorded.request?.path}`).toEndWith(sent.path)
      expect(JSON.parse(String(sent.body))).toEqual({ ...members, model: "upstream" })
      const body = bodyOf(recorded)
      if (!isJsonObject(body) || !Array.isArray(body["data"]) || !isJsonObject(body["usage"]))
        throw new Error("no answer")
      const answer = protocol.decode(head, body, request)
      if (answer instanceof HostFailed) throw answer
      expect(answer.data).toHaveLength(inputsOf(request.payload.input).length)
      expect(answer.data.map(({ index, embedding }) => ({ index, embedding }))).toEqual(
        body["data"].map(({ index, embedding }) => ({ index, embedding: vectorOf(vendor, embedding) })),
      )
      expect(answer.usage).toMatchObject({ prompt_tokens: body["usage"]["prompt_tokens"], completion_tokens: 0 })
    }
    test(recorded.id, reporting(recorded, check))
  }
})
