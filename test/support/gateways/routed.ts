/** A gateway and its own hosts for one test: what each host answers, and the order in which they were called. */
import { afterEach } from "bun:test"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { StrategyPlugin } from "../../../src/plugin/strategy.ts"
import { type ManualClock, pass } from "../clocks/manualClock.ts"
import { until } from "../clocks/until.ts"
import { configFor, heldStream, type ScriptedHost, scriptedHost, streamAnswer, wholeAnswer } from "../hosts/host.ts"
import { gatewayWithoutSocket, ownPlugins, startGateway, type TestGateway } from "./gateway.ts"

export type Answer = (body: Record<string, unknown>, request: Request, call: number) => Response | Promise<Response>

export interface Routed extends TestGateway {
  /** The hosts that were called, in that order. */
  readonly called: () => ReadonlyArray<string>
  readonly hosts: Readonly<Record<string, ScriptedHost>>
}

type Entry = Readonly<Record<string, unknown>>

export interface ModelChange {
  readonly model?: Entry
  readonly hosts?: Readonly<Record<string, Entry>>
  /** Further hosts, each with its `provider`: one of the others. */
  readonly more?: ReadonlyArray<Entry>
}

export interface RoutedOptions {
  readonly models?: Readonly<Record<string, ReadonlyArray<string>>>
  readonly prices?: Readonly<Record<string, { readonly prompt?: string; readonly completion?: string }>>
  /** Changes `acme/small`, and the entries of its hosts by their names. */
  readonly change?: ModelChange
  /** Providers that the operator has switched off. */
  readonly disabled?: ReadonlyArray<string>
  /** More of the settings of providers, by their names. */
  readonly settings?: Readonly<Record<string, Entry>>
  /** Strategies in place of the project's own. */
  readonly strategies?: ReadonlyArray<StrategyPlugin>
  /** Whether it listens on a socket; otherwise it is a function from request to response. */
  readonly socket?: boolean
  /** In place of the machine's. */
  readonly clock?: ManualClock
  /** More of the configuration. */
  readonly [field: string]: unknown
}

/** Answers as the request wants: whole or streamed. */
export const good =
  (text = "fine"): Answer =>
  (body) =>
    body["stream"] === true ? streamAnswer([text]) : wholeAnswer(text)

/** An HTTP status with an error body in the chat form. */
export const status =
  (code: number, headers: Record<string, string> = {}, message = "the host says no"): Answer =>
  () =>
    Response.json({ error: { message, type: "some_error", code: null } }, { status: code, headers })

/** Does not answer until the gateway closes the connection. */
export const silent: Answer = (_, request) =>
  new Promise((resolve) => {
    request.signal.addEventListener("abort", () => resolve(new Response()), { once: true })
  })

/** A stream of these events that stays open. */
export const says =
  (...events: ReadonlyArray<string>): Answer =>
  (_, request) => {
    const held = heldStream(request)
    for (const event of events) held.send(event)
    return held.response
  }

const open: Array<() => Promise<void>> = []

/** Closes what `routed` opened in a test. Call it once in each file that uses it. */
export const closeAfterEach = (): void =>
  afterEach(async () => {
    for (const close of open.splice(0)) await close()
  })

/**
 * A gateway with these hosts for `acme/small`, the first the cheapest, ordered by price unless `more` says otherwise; the
 * answer may be the URL of a host instead. `models`: further models, by the names of their hosts. `prices`: USD per token.
 */
export const routed = async (
  answers: Readonly<Record<string, Answer | string>>,
  {
    models = {},
    prices = {},
    change = {},
    disabled = [],
    settings = {},
    strategies,
    socket = false,
    clock,
    ...more
  }: RoutedOptions = {},
): Promise<Routed> => {
  const called: Array<string> = []
  const hosts: Record<string, ScriptedHost> = {}
  const addresses: Record<string, { url: string; prompt: string; completion: string }> = {}
  for (const [at, [name, answer]] of Object.entries(answers).entries()) {
    const price = { prompt: `0.00000${at + 1}`, completion: "0.000002", ...prices[name] }
    if (typeof answer === "string") {
      addresses[name] = { url: answer, ...price }
      continue
    }
    const host = scriptedHost((body, request, call) => {
      called.push(name)
      return answer(body, request, call)
    })
    hosts[name] = host
    open.push(host.stop)
    addresses[name] = { url: host.url, ...price }
  }
  const config = configFor(addresses)
  const [small] = config.models
  if (small === undefined) throw new Error("no model")
  const others = Object.entries(models).map(([id, names]) => ({
    ...small,
    id,
    hosts: small.hosts.filter(({ provider }) => names.includes(provider)),
  }))
  const [anyHost] = small.hosts
  if (anyHost === undefined) throw new Error("no host")
  const first = {
    ...small,
    ...change.model,
    hosts: [
      ...small.hosts
        .filter(({ provider }) => !Object.values(models).flat().includes(provider))
        .map((host) => ({ ...host, ...change.hosts?.[host.provider] })),
      ...(change.more ?? []).map((host) => ({ ...anyHost, ...host })),
    ],
  }
  const providers = Object.fromEntries(
    Object.entries(config.providers).map(([slug, one]) => [
      slug,
      { ...one, enabled: !disabled.includes(slug), ...settings[slug] },
    ]),
  )
  const own = strategies === undefined ? undefined : await Effect.runPromise(ownPlugins)
  const plugins = own?.filter(({ kind }) => kind === "provider")
  const gateway = await (socket ? startGateway : gatewayWithoutSocket)({
    config: { routing: { strategy: "price" }, ...config, providers, models: [first, ...others], ...more },
    ...(plugins === undefined ? {} : { plugins: [...plugins, ...(strategies ?? [])] }),
    ...(clock === undefined ? {} : { setting: Layer.setClock(clock) }),
  })
  open.unshift(gateway.stop)
  return { ...gateway, hosts, called: () => called }
}

export const ask = (more: Record<string, unknown> = {}): Record<string, unknown> => ({
  model: "acme/small",
  messages: [{ role: "user", content: "hi" }],
  ...more,
})

/** Awaits an answer for which so many milliseconds of the clock have to pass once hosts were called so often. */
export const answerAfter = async (
  { called }: Pick<Routed, "called">,
  clock: ManualClock,
  asked: Promise<Response>,
  { calls = 1, milliseconds }: { readonly calls?: number; readonly milliseconds: number },
): Promise<Response> => {
  await until(() => called().length === calls, "the call")
  await pass(clock, milliseconds)
  return asked
}
