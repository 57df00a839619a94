/** Which words a host is sent: what passes unread, what is dropped and named, and what is never sent. docs/guarantees.md#g36 */
import { describe, expect, test } from "bun:test"
import * as Either from "effect/Either"
import type { Endpoint } from "../../../src/catalogue/endpoints.ts"
import { ProviderRegistry } from "../../../src/catalogue/ProviderRegistry.ts"
import { HostFailed, Unsupported } from "../../../src/domain/failures/Failure.ts"
import type { Host } from "../../../src/domain/hosts/Host.ts"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import type { ChatRequest, NativeRequest } from "../../../src/domain/request/request.ts"
import { jsonBody } from "../../../src/formats/Protocol.ts"
import { encodeFor } from "../../../src/services/dispatch/encodeFor.ts"
import { closeServices, hostsConfig, servicesOf } from "../../support/clocks/services.ts"
import { requestWith } from "../../support/recordings/recordings.ts"

closeServices()

const services = await servicesOf(ProviderRegistry.layer(await hostsConfig({ a: {} })))
const registry = services.get(ProviderRegistry)
const [host] = registry.current().models[0]?.hosts ?? []
const configured = host && registry.endpoint(host)
if (host === undefined || configured === undefined) throw new Error("no host")

/** A host that is sent the payload as it is, called by this protocol. */
const endpointWith = (protocol: Partial<Endpoint["protocol"]> = {}): Endpoint => ({
  ...configured,
  protocol: {
    ...configured.protocol,
    passes: [],
    encode: ({ payload }) => Either.right({ path: "/chat", ...jsonBody(payload) }),
    ...protocol,
  },
})

const encoded = (
  body: JsonObject,
  protocol: Partial<Endpoint["protocol"]> = {},
  more: Partial<ChatRequest> = {},
  to: Host = host,
) => encodeFor(endpointWith(protocol), { ...requestWith(body), ...more }, to)

/** What is sent, and the names of what is not. */
const sent = (...asked: Parameters<typeof encoded>) => {
  const { body, dropped = [] } = Either.getOrThrow(encoded(...asked))
  const { messages: _, ...members } = JSON.parse(String(body))
  return { members, dropped }
}

const unsupported = (...asked: Parameters<typeof encoded>) => {
  const result = encoded(...asked)
  return Either.isLeft(result) && result.left instanceof Unsupported ? [result.left.path, result.left.reason] : result
}

describe("a member that the canonical form does not have", () => {
  const body = { temperature: 1, typical_p: 0.5, "x-guided": true }

  test("is not sent to a host whose protocol does not name it, and the caller is told its name", () => {
    expect(sent(body)).toEqual({ members: { temperature: 1 }, dropped: ["typical_p", "x-guided"] })
    expect(sent(body, { passes: ["typical_p"] })).toEqual({
      ...{ members: { temperature: 1, typical_p: 0.5 }, dropped: ["x-guided"] },
    })
  })

  test("is sent to software that the operator runs, unless its spelling could be that of another member", () => {
    expect(sent(body, { passes: "any" })).toEqual({
      ...{ members: { temperature: 1, typical_p: 0.5 }, dropped: ["x-guided"] },
    })
    for (const name of ["Temperature", " model", "stop ", "", "x.y"])
      expect(sent({ [name]: 1 }, { passes: "any" })).toEqual({ members: {}, dropped: [name] })
  })

  test("is sent where the operator lets it pass to this host", () => {
    expect(sent(body, {}, {}, { ...host, extraMembers: ["x-guided"] })).toMatchObject({ dropped: ["typical_p"] })
  })

  test("that asks for nothing is not sent, and not named", () => {
    expect(sent({ typical_p: null })).toEqual({ members: {}, dropped: [] })
  })

  test("does not change the request that the next host is asked with", () => {
    const request = requestWith(body)
    encodeFor(endpointWith(), request, host)
    expect(request.payload).toHaveProperty("typical_p", 0.5)
  })
})

describe("a caller's own form", () => {
  const native: NativeRequest = {
    ...{ form: "messages", headers: {}, untranslated: ["top_k"] },
    body: { own: "words" },
    pathOf: (path) => `own.${path}`,
  }
  const speaking = (form: string): Partial<Endpoint["protocol"]> => ({
    native: { form, ofEveryHost: false, encode: (_, { body }) => Either.right({ path: "/own", ...jsonBody(body) }) },
  })

  test("goes to a host that speaks it as it came", () => {
    expect(sent({ typical_p: 1 }, speaking("messages"), { native })).toEqual({ members: { own: "words" }, dropped: [] })
  })

  test("is translated for any other host, and what that loses is named", () => {
    expect(sent({ temperature: 1, typical_p: 1 }, speaking("responses"), { native })).toEqual({
      ...{ members: { temperature: 1 }, dropped: ["typical_p", "top_k"] },
    })
  })

  test("what a translation cannot carry is named by the caller's own path", () => {
    const encode = () => Either.left(new Unsupported({ path: "messages[0]", reason: "it is sealed" }))
    expect(unsupported({}, { encode }, { native })).toEqual(["own.messages[0]", "it is sealed"])
    expect(unsupported({}, { encode })).toEqual(["messages[0]", "it is sealed"])
  })
})

describe("what goes out is judged, whoever wrote it", () => {
  const file = { messages: [{ role: "user", content: [{ type: "file", file: { file_id: "file-1" } }] }] }

  test("a reference to what is stored in the operator's account is not sent", () => {
    const result = encoded({}, { encode: () => Either.right({ path: "/chat", ...jsonBody(file) }) })
    expect(Either.isLeft(result) && result.left).toMatchObject({ path: "messages[0].content[0].file.file_id" })
  })

  test("nor in a body without its source, in bytes, or that was changed after it was made", () => {
    const text = JSON.stringify(file)
    const harmless = jsonBody({ messages: [] })
    for (const body of [text, new TextEncoder().encode(text)]) {
      for (const source of [undefined, harmless.source]) {
        const written = source === undefined ? { path: "/chat", body } : { path: "/chat", body, source }
        expect(Either.isLeft(encoded({}, { encode: () => Either.right(written) }))).toBe(true)
      }
    }
  })

  test("a search that the request did not ask this host for is not sent", () => {
    const searching = { tools: [{ type: "web_search" }] }
    const encode: Endpoint["protocol"]["encode"] = () => Either.right({ path: "/chat", ...jsonBody(searching) })
    const searches: Host = { ...host, searches: "any-form" }
    expect(Either.isLeft(encoded({}, { encode }, {}, searches))).toBe(true)
    expect(Either.isRight(encoded({ web_search_options: {} }, { encode }, {}, searches))).toBe(true)
    expect(Either.isLeft(encoded({ web_search_options: {} }, { encode }))).toBe(true)
  })

  test("a body that is no JSON is a plugin's own, and a GET has none", () => {
    expect(Either.isRight(encoded({}, { encode: () => Either.right({ path: "/chat", body: "<xml/>" }) }))).toBe(true)
    const get = { method: "GET", path: "/chat", body: JSON.stringify(file) } as const
    expect(Either.isRight(encoded({}, { encode: () => Either.right(get) }))).toBe(true)
  })
})

test("a host whose provider does not serve the operation is not sent the request", () => {
  const request = {
    ...requestWith({}),
    ...{ operation: "embeddings", stream: false, maxTokens: 0, payload: { input: "x" } },
  } as unknown as Parameters<typeof encodeFor>[1]
  const { unary: _, ...chatting } = endpointWith()
  const result = encodeFor(chatting, request, host)
  expect(Either.isLeft(result) && !(result.left instanceof HostFailed) && result.left.path).toBe("model")
})
