/** Bodies that are no JSON, and answers that are none, through the handler of every form. A form of this test stands for operations to come. */
import { beforeAll, describe, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { BadRequest } from "../../../src/domain/failures/Failure.ts"
import type { ChatRequest } from "../../../src/domain/request/request.ts"
import { decodeChat } from "../../../src/formats/chat/chatRequest.ts"
import { chatErrorBody } from "../../../src/formats/errorBody.ts"
import { type Body, bytesBody, multipartBody } from "../../../src/http/data/Body.ts"
import { DataHandlers } from "../../../src/http/data/DataHandlers.ts"
import type { Asked, Form } from "../../../src/http/data/Form.ts"
import { forms } from "../../../src/http/data/forms.ts"
import { modelRoute } from "../../../src/http/data/ModelRequest.ts"
import { chatReader } from "../../../src/services/dispatch/AnswerReader.ts"
import type { RequestEnd } from "../../../src/services/request/RequestEnds.ts"
import { errorOf, picodollars } from "../../support/clients/answers.ts"
import { openAccount } from "../../support/gateways/account.ts"
import { startGateway, type TestGateway } from "../../support/gateways/gateway.ts"
import { observe } from "../../support/gateways/observed.ts"
import { closeAfterAll, opened } from "../../support/gateways/watched.ts"
import { configFor, type ScriptedHost, scriptedHost, wholeAnswer } from "../../support/hosts/host.ts"

closeAfterAll()

const chatOf = (text: string) => decodeChat({ model: "acme/small", messages: [{ role: "user", content: text }] })

/** Answers with the bytes of the model's text, as sound. */
const spoken = (request: ChatRequest): Asked => ({
  request,
  answer: () => {
    const read = chatReader(
      "spoken",
      (_, { choices }) =>
        () =>
          String(choices[0]?.message.content),
    )
    return (begun, head, body) => {
      const answer = read(begun, head, body)
      if (!("write" in answer)) return answer
      const { write } = answer
      return { ...answer, contentType: "audio/x-spoken", write: (charge) => Buffer.from(String(write(charge))) }
    }
  },
})

/** Its description does not matter here. */
const formOf = (body: Body<Asked>): Form => ({ ...forms.rerank, name: "spoken", error: chatErrorBody, body })

const missing = new BadRequest({ issues: [{ path: "file", message: "is required" }] })

const ofFields = formOf(
  multipartBody((fields) => {
    const file = fields.get("file")
    if (!(file instanceof Blob)) return Either.left(missing)
    return Effect.flatMap(
      Effect.promise(() => file.text()),
      (text) => Either.map(chatOf(text), spoken),
    )
  }),
)
const ofBytes = formOf(bytesBody((bytes) => Either.map(chatOf(Buffer.from(bytes).toString("hex")), spoken)))

let host: ScriptedHost
let gateway: TestGateway
let ends: ReadonlyArray<RequestEnd>

beforeAll(async () => {
  host = opened(scriptedHost(() => wholeAnswer("h\u00e9llo")))
  gateway = opened(await startGateway({ config: configFor({ acme: host }) }))
  ends = await observe(gateway)
})

const kinds = ["native", "effect"] as const

/** The handler of a form, as the server's own routes call it, or as an app does. */
const ask = async (kind: (typeof kinds)[number], form: Form, init: RequestInit, secret = gateway.key) => {
  const { handler } = await gateway.run(DataHandlers)
  const handle = handler(modelRoute({ method: "POST", path: "/api/v1/spoken" }, form), (_, response) => response)
  const request = new Request("http://gateway.test/api/v1/spoken", { method: "POST", ...init })
  request.headers.set("authorization", `Bearer ${secret}`)
  return kind === "native" ? handle.native(request, () => false) : Effect.runPromise(handle.effect(request))
}

const upload = (text: string) => {
  const fields = new FormData()
  fields.set("model", "acme/small")
  fields.set("file", new File([text], "sound.wav"))
  return fields
}

const saidToHost = () => JSON.stringify(host.calls.at(-1)?.body["messages"])

describe.each(kinds)("the handler, %s", (kind) => {
  test("fields and files of a form come to their operation, and its answer is bytes of its own type", async () => {
    const account = await openAccount(gateway)
    const response = await ask(kind, ofFields, { body: upload("some sound") }, account.secret)
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "audio/x-spoken"])
    expect(Buffer.from(await response.bytes()).toString()).toBe("h\u00e9llo")
    expect(saidToHost()).toContain('"some sound"')
    const [row] = await account.rows()
    expect(row).toMatchObject({
      form: "spoken",
      outcome: "finished",
      requestId: response.headers.get("x-gw-request-id"),
    })
    expect(picodollars(response.headers.get("x-gw-cost-usd"))).toBe(row?.cost ?? -1n)
    expect(ends.at(-1)).toMatchObject({ form: "spoken", status: 200, bytes: { out: 6 } })
  })

  test("bytes come as they are, whatever their type", async () => {
    const body = Uint8Array.of(0, 255, 10)
    const response = await ask(kind, ofBytes, { body, headers: { "content-type": "audio/wav" } })
    expect(Buffer.from(await response.bytes()).toString()).toBe("h\u00e9llo")
    expect(saidToHost()).toContain('"00ff0a"')
    expect(ends.at(-1)?.bytes).toEqual({ in: 3, out: 6 })
  })

  test("a body of another type, fields that are none, and a missing one are refused by name", async () => {
    const calls = host.calls.length
    const refusals = [
      await ask(kind, ofFields, { body: "{}", headers: { "content-type": "application/json" } }),
      await ask(kind, ofFields, { body: "{}", headers: { "content-type": "multipart/form-data; boundary=x" } }),
      await ask(kind, ofFields, { body: new URLSearchParams({ file: "x" }) }),
      await ask(kind, ofFields, { body: Object.assign(new FormData(), {}) }),
    ]
    const messages = await Promise.all(refusals.map(async (one) => String((await errorOf(one))["message"])))
    expect(refusals.map(({ status }) => status)).toEqual([400, 400, 400, 400])
    expect(messages[0]).toContain("must be multipart/form-data")
    expect(messages[1]).toContain("is not valid multipart/form-data")
    expect(messages[2]).toContain("must be multipart/form-data")
    expect(host.calls.length).toBe(calls)
  })

  test("under an Idempotency-Key bytes are charged once, and not kept: the second request is told so", async () => {
    const account = await openAccount(gateway)
    const headers = { "idempotency-key": crypto.randomUUID(), "content-type": "audio/wav" }
    const body = Uint8Array.of(1, 2)
    expect((await ask(kind, ofBytes, { body, headers }, account.secret)).status).toBe(200)
    const again = await ask(kind, ofBytes, { body, headers }, account.secret)
    expect(again.status).toBe(400)
    expect(String((await errorOf(again))["message"])).toContain("was not kept")
    expect(await account.rows()).toHaveLength(1)
  })
})
