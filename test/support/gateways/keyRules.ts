/** A gateway under a clock that the test advances, with two hosts, paid and free models, and keys with rules. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { keyId } from "../../../src/domain/keys/keySecret.ts"
import type { LedgerRow } from "../../../src/services/storage/ledger.ts"
import { Storage } from "../../../src/services/storage/Storage.ts"
import { ManualClock } from "../clocks/manualClock.ts"
import {
  chunkOf,
  configFor,
  type HeldStream,
  heldStream,
  scriptedHost,
  streamAnswer,
  wholeAnswer,
} from "../hosts/host.ts"
import { startGateway, type TestGateway, type TestGatewayOptions } from "./gateway.ts"
import { opened } from "./watched.ts"

export interface Ruled extends TestGateway {
  readonly clock: ManualClock
  /** The hosts that were called, in that order. */
  readonly called: ReadonlyArray<string>
  /** Streams of requests with `user: "held"`, which the test sends and ends. */
  readonly held: ReadonlyArray<HeldStream>
  /** Answers of a host to come; by default it answers. */
  readonly answers: Record<string, (() => Response) | undefined>
  readonly ask: (secret: string, more?: Record<string, unknown>, signal?: AbortSignal) => Promise<Response>
  readonly manage: (secret: string, method: string, body?: unknown) => Promise<Response>
  /** `data` of `GET /key`. */
  readonly statusOf: (secret: string) => Promise<Record<string, unknown>>
  readonly rowsOf: (secret: string) => Promise<ReadonlyArray<LedgerRow>>
}

export const delta = (content: string): string => chunkOf({ delta: { content }, finish_reason: null })

/**
 * `acme/small`: hosts `a` and `b`, in that order; `acme/large`: `a`; `acme/small:free`: both. `storage` may be shared by
 * several gateways.
 */
export const startRuled = async (
  more: Record<string, unknown> = {},
  storage?: NonNullable<TestGatewayOptions["storage"]>,
): Promise<Ruled> => {
  const clock = new ManualClock(Date.UTC(2026, 0, 15, 23, 0))
  const called: Array<string> = []
  const held: Array<HeldStream> = []
  const answers: Ruled["answers"] = {}
  const host = (name: string) =>
    opened(
      scriptedHost((body, request) => {
        called.push(name)
        const scripted = answers[name]?.()
        if (scripted !== undefined) return scripted
        if (body["user"] === "held") {
          const stream = heldStream(request)
          held.push(stream)
          return body["stream"] === true ? stream.response : stream.left.then(() => new Response())
        }
        return body["stream"] === true ? streamAnswer(["fine"]) : wholeAnswer("fine")
      }),
    )
  const config = configFor({ a: host("a"), b: host("b") })
  const [small] = config.models
  if (small === undefined) throw new Error("no model")
  const large = { ...small, id: "acme/large", hosts: small.hosts.slice(0, 1) }
  const free = { ...small, id: "acme/small:free" }
  const gateway = opened(
    await startGateway({
      config: { routing: { strategy: "price" }, ...config, models: [small, large, free], ...more },
      setting: Layer.setClock(clock),
      ...(storage === undefined ? {} : { storage }),
    }),
  )
  const as = (secret: string) => ({ authorization: `Bearer ${secret}` })
  return {
    ...gateway,
    clock,
    called,
    held,
    answers,
    ask: (secret, more = {}, signal) =>
      gateway.chat(
        { model: "acme/small", messages: [{ role: "user", content: "hi" }], max_tokens: 50, ...more },
        { headers: as(secret), ...(signal === undefined ? {} : { signal }) },
      ),
    manage: (secret, method, body) =>
      gateway.call(`/keys/${keyId(secret)}`, {
        method,
        headers: as(gateway.managementKey),
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    statusOf: async (secret) => {
      const response = await gateway.call("/key", { headers: as(secret) })
      return ((await response.json()) as { readonly data: Record<string, unknown> }).data
    },
    rowsOf: (secret) => gateway.run(Effect.flatMap(Storage, (one) => one.ledger.rows(keyId(secret), 1000))),
  }
}

export const statuses = (responses: ReadonlyArray<Response>): ReadonlyArray<number> =>
  responses.map(({ status }) => status).toSorted((a, b) => a - b)

/** So many requests at once. */
export const together = <A>(count: number, send: () => Promise<A>): Promise<ReadonlyArray<A>> =>
  Promise.all(Array.from({ length: count }, send))
