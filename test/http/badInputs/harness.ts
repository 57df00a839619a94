/** What all tests of bad inputs share: a gateway on a real socket, its host, and ways to send a request. */
import { expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import { keyId } from "../../../src/domain/keys/keySecret.ts"
import { render } from "../../../src/http/errorBody.ts"
import type { RequestEnd } from "../../../src/services/request/RequestEnds.ts"
import type { LedgerRow } from "../../../src/services/storage/ledger.ts"
import type { RequestPage, RequestRecord } from "../../../src/services/storage/requests.ts"
import { Storage } from "../../../src/services/storage/Storage.ts"
import { layer as memoryStorage } from "../../../src/sql/sqlite/MemoryStorage.ts"
import { wholeBodyOf } from "../../support/clients/answers.ts"
import { expectRefusal, fine, type Json, type Refusal } from "../../support/clients/badInputs.ts"
import { listening } from "../../support/clients/rawCaller.ts"
import { until } from "../../support/clocks/until.ts"
import { free, nameOf, paid } from "../../support/gateways/everyRoute.ts"
import { startGateway, type TestGateway, type TestGatewayOptions } from "../../support/gateways/gateway.ts"
import { observe, toldAgain } from "../../support/gateways/observed.ts"
import {
  configFor,
  type HeldStream,
  heldStream,
  scriptedHost,
  streamAnswer,
  wholeAnswer,
} from "../../support/hosts/host.ts"

/** The numbers that have a test. */
export const covered = new Set<number>()

/** Declares a test of one numbered input. */
export const badInput = (number: number, name: string, run: () => Promise<unknown>): void => {
  covered.add(number)
  test(`input ${number}: ${name}`, async () => {
    const before = answers.length
    const callersBefore = rawCallers.length
    await run()
    await allEnded([...answers.slice(before), ...rawCallers.slice(callersBefore).flatMap((one) => headsIn(one()))])
  })
}

/** What observers of the gateways' requests were told, gateway by gateway. */
const observed: Array<ReadonlyArray<RequestEnd>> = []

/** A gateway whose requests are checked for their ends. */
export const startObserved = async (options: TestGatewayOptions): Promise<TestGateway> => {
  const started = await startGateway(options)
  observed.push(await observe(started))
  return started
}

interface Answered {
  readonly id: string
  readonly status: number
  /** Of a caller who presented one. */
  readonly key?: string | undefined
}

/** The answers that callers got so far, and what raw callers have received. */
const answers: Array<Answered> = []
const rawCallers: Array<() => string> = []

/** The heads in what a raw caller has received. Those without an id are the runtime's own. */
const headsIn = (received: string): ReadonlyArray<Answered> =>
  received.split("HTTP/1.1 ").flatMap((answer) => {
    const [head = ""] = answer.split("\r\n\r\n", 1)
    const id = /x-gw-request-id: (\w+)/i.exec(head)?.[1]
    return id === undefined ? [] : [{ id, status: Number(head.slice(0, 3)) }]
  })

/** Each of these requests has ended once, with what its caller saw. */
const allEnded = async (seen: ReadonlyArray<Answered>): Promise<void> => {
  const endsOf = (id: string) => observed.flat().filter(({ requestId }) => requestId === id)
  await until(() => seen.every(({ id }) => endsOf(id).length > 0), "the end of each request")
  for (const { id, status, key } of seen) {
    const [end, ...more] = endsOf(id)
    expect([end?.status, more.length]).toEqual([status, 0])
    if (end?.failure === "defect") expect(status).toBe(500)
    // A stream may fail after its head.
    else if (end?.failure != null) expect([200, render(end.failure).status]).toContain(status)
    else expect(status).toBeLessThan(400)
    if (status === 401) expect(end?.key).toBeNull()
    else if (key !== undefined && end?.key !== null) expect(end?.key?.id).toBe(keyId(key))
  }
  expect(toldAgain(observed.flat())).toEqual([])
}

const watched = (started: TestGateway): TestGateway => {
  const noted = async (init: RequestInit | undefined, asked: Promise<Response>) => {
    const response = await asked
    const key = new Headers(init?.headers).get("authorization")?.replace("Bearer ", "")
    answers.push({ id: response.headers.get("x-gw-request-id") ?? "", status: response.status, key })
    return response
  }
  return {
    ...started,
    call: (path, init) => noted(init, started.call(path, init)),
    chat: (body, init) => noted(init, started.chat(body, init)),
  }
}

export const chatPath = "/api/v1/chat/completions"
/** The largest body. */
export const limitBytes = 33_554_432

/** What the gateway logged. */
export const log: Array<string> = []
/** How often a key was looked up in the database, and whether such a lookup fails. */
export const asked = { keys: 0, broken: false }

const watchedStorage = Layer.effect(
  Storage,
  Effect.map(Storage, ({ keys, ...others }) => ({
    ...others,
    keys: {
      ...keys,
      find: (...asking: Parameters<typeof keys.find>) => {
        asked.keys += 1
        return asked.broken ? Effect.die(new Error("SELECT broke at /work/secret")) : keys.find(...asking)
      },
    },
  })),
).pipe(Layer.provide(memoryStorage))

const logged = Logger.replace(
  Logger.defaultLogger,
  Logger.make(({ message, cause }) => log.push(`${JSON.stringify(message)} ${String(cause)}`)),
)

/** The streams of requests with `user: "held"`, whose events a test sends. */
export const held: Array<HeldStream> = []

export const host = scriptedHost((body, request) => {
  if (body["user"] === "held") {
    const stream = heldStream(request)
    held.push(stream)
    return stream.response
  }
  return body["stream"] === true ? streamAnswer(["Hello", " there."]) : wholeAnswer("Hello.")
})

export let gateway: TestGateway

export const startHarness = async (): Promise<void> => {
  const config = configFor({ acme: { url: host.url } })
  const [small] = config.models
  if (small === undefined) throw new Error("no model")
  const large = { ...small, id: "acme/large", context_length: 1_000_000 }
  const options = { config: { ...config, models: [small, large] }, storage: watchedStorage, setting: logged }
  gateway = watched(await startObserved(options))
  listening.onCaller = (received) => rawCallers.push(received)
}

export const stopHarness = async (): Promise<void> => {
  listening.onCaller = undefined
  await gateway.stop()
  await host.stop()
}

/** Requests of the data plane that the first gateway refused and whose key is known, and records of requests that have a failure. */
export const endsAndRecords = async () => {
  // It writes what waits.
  await gateway.call("/requests?limit=1")
  const records: Array<RequestRecord> = []
  for (let next: string | null = ""; next !== null; ) {
    const page: RequestPage = await gateway.run(
      Effect.flatMap(Storage, ({ requests }) => requests.page({}, next ?? "", 1000)),
    )
    records.push(...page.found.flatMap(({ record }) => record ?? []))
    next = page.next
  }
  const ends = (observed[0] ?? []).filter(
    ({ key, failure, route }) => key !== null && failure !== null && dataRoutes.has(route),
  )
  return { ends, records: records.filter(({ outcome }) => outcome !== "ok") }
}

const dataRoutes = new Set([...[...Object.keys(paid), ...Object.keys(free)].map(nameOf), "GET /api/v1/responses"])

type Body = string | Uint8Array<ArrayBuffer>

export const secrets = () => [gateway.key, gateway.managementKey]
export const rowsOf = (secret: string): Promise<ReadonlyArray<LedgerRow>> =>
  gateway.run(Effect.flatMap(Storage, (storage) => storage.ledger.rows(keyId(secret), 100)))

/** Sends a body unchanged, with the ordinary key. */
export const post = (body: Body, headers: Record<string, string> = { "content-type": "application/json" }) =>
  gateway.call("/chat/completions", { method: "POST", body, headers })

/** Checks that `send` is answered by this refusal, and that neither the host nor the ledger got anything. */
export const refused = async (send: () => Promise<Response>, wanted: Refusal): Promise<Json> => {
  const calls = host.calls.length
  const rows = (await rowsOf(gateway.key)).length
  const metadata = await expectRefusal(await send(), wanted, secrets())
  expect(host.calls.length).toBe(calls)
  expect((await rowsOf(gateway.key)).length).toBe(rows)
  return metadata
}

/** Sends this body, checks for a 200, and returns the body that the host got. */
export const passed = async (body: Body, headers?: Record<string, string>): Promise<Json> => {
  const calls = host.calls.length
  await wholeBodyOf(await post(body, headers))
  expect(host.calls.length).toBe(calls + 1)
  return host.calls.at(-1)?.body ?? {}
}

export const ordinary = () => ({ Authorization: `Bearer ${gateway.key}`, "Content-Type": "application/json" })
export const json = JSON.stringify(fine)
export const bytes = (text: string) => new TextEncoder().encode(text)

export const asKey = (key: string) => ({ headers: { authorization: `Bearer ${key}` } })
export const asManager = (method = "GET", body?: unknown) => ({
  method,
  ...asKey(gateway.managementKey),
  ...(body === undefined ? {} : { body: JSON.stringify(body) }),
})

/** The only answer of a connection that is closed. */
export const onlyOne = (answers: ReadonlyArray<Response>): Response => {
  const [answer] = answers
  if (answer === undefined || answers.length > 1) throw new Error(`${answers.length} answers`)
  return answer
}
