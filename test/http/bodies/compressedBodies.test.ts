/** Bodies that clients compress, as Codex and the SDKs of Google do. docs/guarantees.md#g30 */
import { describe, expect, test } from "bun:test"
import { randomBytes } from "node:crypto"
import { zstdCompressSync } from "node:zlib"
import { errorOf } from "../../support/clients/answers.ts"
import { startGateway } from "../../support/gateways/gateway.ts"
import { closeAfterEach, opened } from "../../support/gateways/watched.ts"
import { configFor, scriptedHost, wholeAnswer } from "../../support/hosts/host.ts"

closeAfterEach()

const mebibyte = 1_048_576
const asked = { model: "acme/small", messages: [{ role: "user", content: "ünïcode 💡" }], max_tokens: 10 }

const encoders = {
  gzip: (text: string) => Bun.gzipSync(Buffer.from(text)),
  zstd: (text: string) => zstdCompressSync(text),
}

const start = async (limits: Record<string, unknown> = {}) => {
  let seen: unknown
  const host = opened(
    scriptedHost((body) => {
      seen = body["messages"]
      return wholeAnswer("fine")
    }),
  )
  const gateway = opened(await startGateway({ config: { ...configFor({ acme: host }), limits } }))
  const send = (body: Uint8Array<ArrayBuffer>, encoding: string, isChunked = false) =>
    fetch(`${gateway.url}/chat/completions`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${gateway.key}`,
        "content-type": "application/json",
        "content-encoding": encoding,
      },
      body: isChunked ? new Blob([body]).stream() : body,
    })
  return { send, seen: () => seen }
}

const bytes = (given: Uint8Array): Uint8Array<ArrayBuffer> => new Uint8Array(given)

describe.each(Object.entries(encoders))("a body in %s", (encoding, encode) => {
  test.each([[false], [true]])("was refused: it is read as the plain one (in chunks: %p)", async (isChunked) => {
    const { send, seen } = await start()
    const response = await send(bytes(encode(JSON.stringify(asked))), encoding, isChunked)
    expect(response.status).toBe(200)
    expect(seen()).toEqual(asked.messages)
  })

  test("of several megabytes is read whole", async () => {
    const { send, seen } = await start()
    const content = randomBytes(3 * mebibyte).toString("base64")
    const message = {
      role: "user",
      content: [{ type: "image_url", image_url: { url: `data:image/png;base64,${content}` } }],
    }
    expect((await send(bytes(encode(JSON.stringify({ ...asked, messages: [message] }))), encoding)).status).toBe(200)
    expect(seen()).toEqual([message])
  })

  test("that is broken or cut is a bad request", async () => {
    const { send } = await start()
    const whole = bytes(encode(JSON.stringify(asked)))
    // Of a cut body the runtime's zstd gives what there is, which is no JSON.
    const cut = await send(bytes(whole.subarray(0, whole.length - 6)), encoding)
    expect(cut.status).toBe(400)
    for (const body of [bytes(Buffer.from("no such thing")), whole.subarray(2)]) {
      const response = await send(bytes(body), encoding)
      expect(response.status).toBe(400)
      expect((await errorOf(response)).metadata?.["path"]).toBe("Content-Encoding")
    }
  })

  test("has the bound of a body once it is decoded, and a ratio of 200", async () => {
    const { send } = await start({ body_bytes: 2 * mebibyte })
    const long = { ...asked, messages: [{ role: "user", content: randomBytes(2 * mebibyte).toString("hex") }] }
    const tooLong = await send(bytes(encode(JSON.stringify(long))), encoding)
    expect(tooLong.status).toBe(413)
    expect((await errorOf(tooLong)).metadata?.["limit_bytes"]).toBe(2 * mebibyte)
    const other = await start()
    const bomb = await other.send(bytes(encode(`{"a":"${"x".repeat(24 * mebibyte)}"}`)), encoding)
    expect(bomb.status).toBe(413)
  })
})

test("another encoding is a bad request", async () => {
  const { send } = await start()
  for (const encoding of ["br", "gzip, gzip", "aws-chunked"]) {
    const response = await send(bytes(Buffer.from(JSON.stringify(asked))), encoding)
    expect(response.status).toBe(400)
    expect((await errorOf(response)).message).toContain("must be gzip or zstd")
  }
})
