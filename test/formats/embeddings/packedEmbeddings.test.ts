/** Vectors that hosts send as base64, of floats or of bytes. docs/guarantees.md#g10 */
import { expect, test } from "bun:test"
import { HostFailed } from "../../../src/domain/failures/Failure.ts"
import type { EmbeddingsPayload } from "../../../src/domain/request/embeddings.ts"
import { embeddingsProtocol } from "../../../src/formats/embeddings/embeddingsHost.ts"

const head = { status: 200, headers: new Headers() }

const read = (bytes: Uint8Array, more: Partial<EmbeddingsPayload> = {}) => {
  const embedding = Buffer.from(bytes).toString("base64")
  const bounds = { promptBytes: 1, textBytes: 1, images: 0 }
  const request = { payload: { input: "a", ...more }, bounds } as never
  const answer = embeddingsProtocol().decode(head, { data: [{ index: 0, embedding }] }, request)
  return answer instanceof HostFailed ? answer.reason : answer.data[0]?.embedding
}

const signed = Int8Array.from({ length: 1024 }, (_, at) => ((at * 37) % 256) - 128)
const unsigned = new Uint8Array(signed.buffer)

test.each<[string, Partial<EmbeddingsPayload>, ReadonlyArray<number>]>([
  ["int8", { output_dtype: "int8" }, [...signed]],
  ["binary", { output_dtype: "binary" }, [...signed]],
  ["uint8", { output_dtype: "uint8" }, [...unsigned]],
  ["ubinary", { output_dtype: "ubinary" }, [...unsigned]],
  ["bytes that nobody asked for", {}, [...signed]],
  ["bytes, one for each dimension", { dimensions: 1024 }, [...signed]],
  ["bytes for a caller who wants base64 of floats", { encoding_format: "base64" }, [...signed]],
])("%s in base64 were a failure of the host, or read as floats", (_, more, expected) => {
  expect(read(unsigned, more)).toEqual(expected)
})

test("base64 of floats stays as it is, for the caller's own encoding", () => {
  const floats = new Uint8Array(Float32Array.from({ length: 256 }, (_, at) => Math.sin(at)).buffer)
  for (const more of [{}, { dimensions: 256 }, { output_dtype: "float" }]) {
    expect(read(floats, more)).toBe(Buffer.from(floats).toString("base64"))
  }
})
