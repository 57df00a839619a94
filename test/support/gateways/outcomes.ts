/** A gateway under a clock of the test, for one request: what its caller saw, and what was booked. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { keyId } from "../../../src/domain/keys/keySecret.ts"
import type { LedgerRow } from "../../../src/services/storage/ledger.ts"
import { Storage } from "../../../src/services/storage/Storage.ts"
import { StorageUnavailable } from "../../../src/services/storage/StorageUnavailable.ts"
import { Upstream } from "../../../src/upstream/Upstream.ts"
import { ManualClock } from "../clocks/manualClock.ts"
import { configFor } from "../hosts/host.ts"
import { lastingStorage } from "../storage/lastingStorage.ts"
import { gatewayWithoutSocket, type TestGateway } from "./gateway.ts"
import { HostCall, Reading } from "./timedGateway.ts"

/** What the caller saw. */
export interface Seen {
  readonly status: number
  /** USD: `usage.cost`, of a stream the last one; `undefined`: no cost was shown. */
  readonly cost: number | undefined
  /** `X-GW-Cost-USD`. */
  readonly header: string | null
}

export interface OutcomeOptions {
  readonly billing?: Record<string, unknown>
  readonly limits?: Record<string, unknown>
  readonly hedge?: Record<string, unknown>
  /** Of the caller's key, in picodollars. Default: more than is needed. */
  readonly limit?: bigint
  /** USD per token of the prompt and of the output. Default: 0.000001 and 0.000002. */
  readonly prices?: { readonly prompt: string; readonly completion: string }
}

export class OutcomeScene {
  readonly calls: Array<HostCall> = []
  readonly leaving = new AbortController()
  readonly gateway: TestGateway
  readonly secret: string
  /** Whether the database takes rows. */
  readonly database: { takesRows: boolean }
  private readonly clock: ManualClock
  private readonly storage: Layer.Layer<Storage>

  private constructor(
    calls: Array<HostCall>,
    gateway: TestGateway,
    secret: string,
    database: { takesRows: boolean },
    clock: ManualClock,
    storage: Layer.Layer<Storage>,
  ) {
    this.calls = calls
    this.gateway = gateway
    this.secret = secret
    this.database = database
    this.clock = clock
    this.storage = storage
  }

  /** Hosts `a` and `b` serve `acme/small` in this order, and the caller's key has a limit. */
  static async open({
    billing = {},
    limits = {},
    hedge,
    prices,
    limit = 10_000_000_000_000n,
  }: OutcomeOptions): Promise<OutcomeScene> {
    const calls: Array<HostCall> = []
    const upstream = Upstream.layerFrom((request) => {
      const call = new HostCall(request, false)
      calls.push(call)
      return call.response
    })
    const clock = new ManualClock()
    const database = { takesRows: true }
    const storage = storageThat(database)
    const hosts = { a: { url: "http://127.0.0.1:1/v1", ...prices }, b: { url: "http://127.0.0.1:2/v1", ...prices } }
    const routing = hedge === undefined ? {} : { routing: { hedge } }
    const gateway = await gatewayWithoutSocket({
      config: configFor(hosts, { billing, limits, server: { drain_s: 0 }, ...routing }),
      storage,
      upstream,
      setting: Layer.setClock(clock),
    })
    const secret = await gateway.newKey({ limit })
    return new OutcomeScene(calls, gateway, secret, database, clock, storage)
  }

  get headers() {
    return { authorization: `Bearer ${this.secret}` }
  }

  ask(more: Record<string, unknown>): Promise<Response> {
    const asked = { model: "acme/small", messages: [{ role: "user", content: "x".repeat(400) }], max_tokens: 50 }
    return this.gateway.chat(
      { ...asked, provider: { order: ["a", "b"] }, ...more },
      { headers: this.headers, signal: this.leaving.signal },
    )
  }

  /** Waits for the call of this number, from 1. */
  async call(number: number): Promise<HostCall> {
    for (let patience = 0; patience < 200; patience++) {
      const call = this.calls[number - 1]
      if (call !== undefined) return call
      await settled()
    }
    throw new Error(`there were ${this.calls.length} calls`)
  }

  async pass(milliseconds: number): Promise<void> {
    for (let left = milliseconds; left > 0; left -= 1000) {
      this.clock.advance(Math.min(left, 1000))
      await settled()
    }
  }

  /** Closes the gateway, and reads what another one on the same storage knows. */
  async booked(): Promise<{ readonly rows: ReadonlyArray<LedgerRow>; readonly usage: number | undefined }> {
    await this.gateway.stop()
    const another = await gatewayWithoutSocket({ storage: this.storage, setting: Layer.setClock(this.clock) })
    const rows = await another.run(Effect.flatMap(Storage, ({ ledger }) => ledger.rows(keyId(this.secret), 1000)))
    const status = await another.call("/auth/key", { headers: this.headers })
    // A key that was deleted has no status.
    const body = (await status.json()) as { readonly data?: { readonly usage: number } }
    await another.stop()
    return { rows, usage: body.data?.usage }
  }
}

/** Lets everything happen that does not wait for the clock. */
export const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 8; turn++) await new Promise((resolve) => setImmediate(resolve))
}

const storageThat = (database: { readonly takesRows: boolean }): Layer.Layer<Storage> => {
  const { ledger, ...others } = Effect.runSync(Effect.provide(Storage, lastingStorage))
  const locked = new StorageUnavailable({ reason: "database is locked" })
  return Layer.succeed(Storage, {
    ...others,
    ledger: {
      ...ledger,
      append: (rows) => Effect.suspend(() => (database.takesRows ? ledger.append(rows) : Effect.fail(locked))),
    },
  })
}

export const seenBy = async (response: Response): Promise<Seen> => {
  const { text } = await new Reading(response).all()
  const costs = [...text.matchAll(/"cost":([0-9.e-]+)/g)]
  const last = costs.at(-1)?.[1]
  return {
    status: response.status,
    cost: last === undefined ? undefined : Number(last),
    header: response.headers.get("x-gw-cost-usd"),
  }
}
