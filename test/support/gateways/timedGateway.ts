/** The data plane under a clock that the test advances, with hosts whose answers the test gives. */
import { expect } from "bun:test"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Redacted from "effect/Redacted"
import * as Runtime from "effect/Runtime"
import * as Scope from "effect/Scope"
import * as Gateway from "../../../src/app/Gateway.ts"
import { decodeConfig } from "../../../src/config/loadConfig.ts"
import { DataPlane } from "../../../src/http/data/routes.ts"
import type { Plugin } from "../../../src/plugin/loading/discover.ts"
import { KeyStore } from "../../../src/services/keys/KeyStore.ts"
import { Meter } from "../../../src/services/money/Meter.ts"
import { InFlight } from "../../../src/services/request/InFlight.ts"
import type { RequestEnd } from "../../../src/services/request/RequestEnds.ts"
import type { LedgerRow } from "../../../src/services/storage/ledger.ts"
import { Storage } from "../../../src/services/storage/Storage.ts"
import { readChatStream } from "../../../src/testing/grammar/chat.ts"
import { Upstream } from "../../../src/upstream/Upstream.ts"
import { ManualClock } from "../clocks/manualClock.ts"
import { until } from "../clocks/until.ts"
import { configFor } from "../hosts/host.ts"
import { lastingStorage } from "../storage/lastingStorage.ts"
import { ownPlugins } from "./gateway.ts"
import { subscribed, toldAgain } from "./observed.ts"

/** One call to a host, answered by the test. */
export class HostCall {
  /** How often the reader asked for more. */
  pulls = 0
  cancelled = false
  aborted = false
  /** The port of the host: 1 for `a`, 2 for `b`. */
  readonly port: number
  readonly response: Promise<Response>
  private controller: ReadableStreamDefaultController<Uint8Array> | undefined
  private answer: (response: Response) => void = () => {}
  private readonly body: ReadableStream<Uint8Array>

  /** `ignoresAbort`: does not end its body when the call is aborted. */
  constructor(request: Request, ignoresAbort: boolean) {
    this.port = Number(new URL(request.url).port)
    this.body = new ReadableStream(
      {
        start: (controller) => {
          this.controller = controller
        },
        pull: () => {
          this.pulls += 1
        },
        cancel: () => {
          this.cancelled = true
        },
      },
      { highWaterMark: 0 },
    )
    this.response = new Promise((resolve, reject) => {
      this.answer = resolve
      request.signal.addEventListener("abort", () => {
        this.aborted = true
        if (ignoresAbort) return
        reject(request.signal.reason)
        this.break()
      })
    })
  }

  /** The head: an event stream begins. */
  head(): this {
    this.answer(new Response(this.body, { headers: { "content-type": "text/event-stream" } }))
    return this
  }

  /** The answer, in place of an event stream. */
  whole(response: Response): void {
    this.answer(response)
  }

  /** Data lines, an event each. */
  events(...data: ReadonlyArray<string>): this {
    return this.text(data.map((line) => `data: ${line}\n\n`).join(""))
  }

  text(text: string): this {
    this.whileOpen((controller) => controller.enqueue(new TextEncoder().encode(text)))
    return this
  }

  end(): void {
    this.whileOpen((controller) => controller.close())
  }

  break(): void {
    this.whileOpen((controller) => controller.error(new Error("the connection broke")))
  }

  // A cancelled stream throws when something is added to it.
  private whileOpen(act: (controller: ReadableStreamDefaultController<Uint8Array>) => void): void {
    try {
      if (this.controller !== undefined && !this.cancelled) act(this.controller)
    } catch (error) {
      if (!(error instanceof TypeError)) throw error
    }
  }
}

/** A caller who reads everything. */
export class Reading {
  text = ""
  over: "no" | "ended" | "broken" = "no"
  readonly response: Response
  private readonly reader: Pick<ReadableStreamDefaultReader<Uint8Array>, "read" | "cancel"> | undefined
  constructor(response: Response) {
    this.response = response
    this.reader = response.body?.getReader()
  }

  /** Reads one piece. A stream that has ended has to keep the grammar of its form. */
  async one(): Promise<boolean> {
    const next = await this.reader?.read().catch(() => {
      this.over = "broken"
    })
    if (this.over === "no" && next?.done !== false) {
      this.over = "ended"
      if (this.response.headers.get("content-type") === "text/event-stream") readChatStream(this.text)
    } else if (next?.done === false) this.text += new TextDecoder().decode(next.value)
    return this.over === "no"
  }

  /** Reads to the end. Do not await it in a test that first has to cause the end. */
  async all(): Promise<this> {
    while (await this.one());
    return this
  }

  async leave(): Promise<void> {
    this.over = "ended"
    await this.reader?.cancel()
  }
}

export interface TimedGateway {
  /** A streamed request to both hosts, `a` first. */
  readonly ask: (more?: Record<string, unknown>, signal?: AbortSignal) => Promise<Response>
  /** The same, read as it comes. Rejects when the answer is no stream. */
  readonly listen: (more?: Record<string, unknown>, signal?: AbortSignal) => Promise<Reading>
  /** The calls to hosts so far. */
  readonly calls: ReadonlyArray<HostCall>
  /** Waits for the call of this number, from 1. */
  readonly call: (number?: number) => Promise<HostCall>
  /** Advances the clock in steps of at most a second, and lets everything happen that is due. */
  readonly pass: (milliseconds: number) => Promise<void>
  /** Lets everything happen that does not wait for the clock. */
  readonly settle: () => Promise<void>
  /** The newest first. */
  readonly rows: (limit?: number) => Promise<ReadonlyArray<LedgerRow>>
  /** Closes it as SIGTERM would. */
  readonly stop: () => Promise<void>
  readonly reserved: () => Promise<bigint>
  readonly total: () => Promise<bigint>
  /** What was told of the requests that are over. */
  readonly ends: ReadonlyArray<RequestEnd>
  /** Ends the requests of the key, as when it is deleted. */
  readonly revoke: () => void
}

export interface TimedOptions {
  readonly limits?: Record<string, unknown>
  readonly routing?: Record<string, unknown>
  readonly hosts?: ReadonlyArray<"a" | "b">
  /** More of the configuration of a provider. */
  readonly providers?: Readonly<Partial<Record<"a" | "b", object>>>
  /** More of the entry of each host in the catalogue. */
  readonly host?: object
  /** More of the entry of the model. */
  readonly model?: object
  readonly ignoresAbort?: boolean
  /** Of the configuration. A webhook at 127.0.0.1 is called as a host is. */
  readonly alerts?: object
  /** A plugin in place of `openai-compatible`. */
  readonly plugin?: Plugin
}

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 8; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/** The time in which the ledger gathers rows (`GroupCommit`) is that of the machine. */
const gathered = async (): Promise<void> => {
  await turns()
  await Bun.sleep(4)
  await turns()
}

/** Without the members that are undefined. */
const given = (members: object): object =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))

const configOf = ({
  hosts = ["a"],
  providers: more = {},
  limits = {},
  routing = {},
  host,
  model,
  plugin,
  alerts = {},
}: TimedOptions) => {
  const urls = hosts.map((slug) => [slug, { url: `http://127.0.0.1:${slug === "a" ? 1 : 2}/v1` }] as const)
  const added = new Map<string, object | undefined>(Object.entries(more))
  const { providers, models } = configFor(Object.fromEntries(urls))
  const named = Object.entries(providers).map(([slug, settings]) => [
    slug,
    given({ ...settings, plugin: plugin?.id ?? settings.plugin, ...added.get(slug) }),
  ])
  const changed = models.map((one) => ({ ...one, ...model, hosts: one.hosts.map((each) => ({ ...each, ...host })) }))
  return { providers: Object.fromEntries(named), models: changed, limits, routing, alerts }
}

/** Runs `body` in a gateway of its own, which is closed after it. Then each of its requests has ended once. */
export const inTimedGateway = (
  options: TimedOptions,
  body: (gateway: TimedGateway) => Promise<void>,
): Promise<void> => {
  const clock = new ManualClock()
  return Effect.gen(function* () {
    const calls: Array<HostCall> = []
    const ends: Array<RequestEnd> = []
    let asked = 0
    const upstream = Upstream.layerFrom((request) => {
      const call = new HostCall(request, options.ignoresAbort === true)
      calls.push(call)
      return call.response
    })
    const plugins = (yield* ownPlugins).filter(({ kind }) => kind === "provider")
    const config = yield* decodeConfig(configOf(options))
    const all = options.plugin === undefined ? plugins : [...plugins, options.plugin]
    const scope = yield* Scope.make()
    const context = yield* Layer.buildWithScope(
      Gateway.servicesOf({ plugins: all, config }).pipe(
        Layer.provideMerge(KeyStore.layer()),
        Layer.provideMerge(lastingStorage),
        Layer.provide(upstream),
        Layer.provide(Logger.remove(Logger.defaultLogger)),
      ),
      scope,
    )
    yield* Scope.extend(
      Effect.provide(
        subscribed((end) => ends.push(end)),
        context,
      ),
      yield* Scope.make(),
    )
    const stop = Scope.close(scope, Exit.void)
    const run = Runtime.runPromise(yield* Effect.runtime<never>())
    const keys = Context.get(context, KeyStore)
    const { secret, record } = yield* keys.create({ kind: "ordinary", name: "test", limit: 10_000_000_000_000n })
    const handle = Context.get(context, DataPlane).handlers.get("/api/v1/chat/completions")
    if (handle === undefined) throw new Error("no chat completions")

    const ask: TimedGateway["ask"] = (more = {}, signal) => {
      asked += 1
      const body = { model: "acme/small", messages: [{ role: "user", content: "hello" }], stream: true, ...more }
      const request = new Request("http://gateway.test/api/v1/chat/completions", {
        method: "POST",
        headers: { authorization: `Bearer ${Redacted.value(secret)}`, "content-type": "application/json" },
        body: JSON.stringify({ provider: { order: ["a", "b"] }, max_tokens: 50, ...body }),
        ...(signal === undefined ? {} : { signal }),
      })
      return run(handle.effect(request))
    }
    const spent = () => run(Context.get(context, Meter).spent(record.id))
    yield* Effect.promise(() =>
      body({
        ask,
        listen: async (...asked) => {
          const response = await ask(...asked)
          if (response.status !== 200) throw new Error(`no stream: ${response.status} ${await response.text()}`)
          const reading = new Reading(response)
          void reading.all()
          return reading
        },
        calls,
        call: async (number = 1) => {
          for (let patience = 0; patience < 200; patience++) {
            const call = calls[number - 1]
            if (call !== undefined) return call
            await turns()
          }
          throw new Error(`there were ${calls.length} calls`)
        },
        pass: async (milliseconds) => {
          for (let left = milliseconds; left > 0; left -= 1000) {
            clock.advance(Math.min(left, 1000))
            await turns()
          }
        },
        settle: gathered,
        stop: () => run(stop),
        rows: (limit = 10_000) => run(Context.get(context, Storage).ledger.rows(record.id, limit)),
        reserved: async () => (await spent()).reserved,
        total: async () => (await spent()).total,
        ends,
        revoke: () => Context.get(context, InFlight).revoke(record.id),
      }),
    )
    yield* stop
    yield* Effect.promise(() => until(() => ends.length >= asked, "the end of each request"))
    expect({ asked: ends.length, again: toldAgain(ends) }).toEqual({ asked, again: [] })
  }).pipe(
    Effect.withClock(clock),
    Effect.mapError((problem) => new Error(JSON.stringify(problem))),
    Effect.runPromise,
  )
}
