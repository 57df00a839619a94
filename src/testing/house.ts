/** Checks that need the house around the plugin: an answer that is paid for, and a caller who leaves. G5, G17. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import { type Failure, RoutingExhausted } from "../domain/Failure.ts"
import type { Host } from "../domain/Host.ts"
import { generationId, KeyId, requestId } from "../domain/Ids.ts"
import { unlimitedKey } from "../domain/Key.ts"
import { parseUsage } from "../domain/Usage.ts"
import * as Gateway from "../Gateway.ts"
import type { Provider, ProviderPlugin } from "../plugin/Provider.ts"
import { Upstream } from "../plugin/Upstream.ts"
import { Call } from "../services/Call.ts"
import { Dispatcher } from "../services/Dispatcher.ts"
import { KeyStore } from "../services/KeyStore.ts"
import { ProviderRegistry } from "../services/ProviderRegistry.ts"
import { Relay } from "../services/Relay.ts"
import type { StreamWriter } from "../services/StreamBody.ts"
import * as MemoryStorage from "../sql/MemoryStorage.ts"
import { wellFormedResponse } from "./answers.ts"
import { type Check, must, oneLine, shown } from "./check.ts"
import { publicModel, requestOf } from "./samples.ts"
import { type FormSubject, gatewayConfig, load, type NamedSample, type ProviderSubject } from "./subject.ts"

export const houseChecks = (form: FormSubject): ReadonlyArray<Check> => {
  const { subject, operation } = form
  const [sample] = form.streams
  const checks: Array<Check> = []
  if (subject.answer !== undefined || answersItself(subject)) {
    const name = `${operation}: a whole answer comes through the gateway, counted by its host`
    checks.push({ name, run: () => answered(form) })
  }
  if (sample !== undefined) {
    checks.push({
      name: `${operation}: a stream is passed on as it comes, and the host is told when its caller leaves`,
      run: () => hangsUp(form, sample),
    })
  }
  return checks
}

const answersItself = (subject: ProviderSubject): boolean => {
  try {
    return load(subject).answer !== undefined
  } catch {
    return false
  }
}

const answered = async (form: FormSubject): Promise<void> => {
  const { plugin, answer } = form.subject
  const { response, charge } = await inHouse(form, alone(plugin, answer === undefined), answer, ({ call, plan }) =>
    Effect.flatMap(Dispatcher, ({ complete }) => complete(call, requestOf(false), plan)),
  )
  wellFormedResponse(response)
  must(
    parseUsage(response.usage) !== undefined && !charge.estimated,
    `The answer's usage is ${shown(response.usage)}: the caller would be billed by an estimate`,
    "ChatResponse.usage; G5",
  )
}

/** Sends the sample event by event and keeps its last one, so that the host is still speaking when the caller leaves. */
const hangsUp = async (form: FormSubject, sample: NamedSample): Promise<void> => {
  const events = eventsOf(sample)
  const hungUp = Promise.withResolvers<true>()
  const answer = ({ signal }: Request) => {
    signal.addEventListener("abort", () => hungUp.resolve(true), { once: true })
    return new Response(speaking(events.slice(0, -1), signal))
  }
  await inHouse(form, alone(form.subject.plugin, false), answer, ({ call, plan }) =>
    Effect.gen(function* () {
      const relay = yield* Relay
      const { body } = yield* relay.stream(call, requestOf(true), plan, () => writer)
      const reader = body.getReader()
      const spoken = yield* Effect.promise(() => within(firstWords(reader)))
      yield* Effect.promise(() => reader.cancel())
      must(
        spoken === true,
        `Nothing of ${sample.name} reached the caller while the host was still speaking: the decoder holds its chunks back`,
        "Decoder.event; architecture 3",
      )
      must(
        (yield* Effect.promise(() => within(hungUp.promise))) === true,
        "The caller left, and the host was not told",
        "Upstream; G17",
      )
    }),
  )
}

interface EventReader {
  readonly read: () => Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>
}

/** Whether anything comes but signs of life. */
const firstWords = async (reader: EventReader): Promise<boolean> => {
  const decoder = new TextDecoder()
  for (;;) {
    const next = await reader.read()
    if (next.done) return false
    if (decoder.decode(next.value).replaceAll(heartbeat, "") !== "") return true
  }
}

/** Far longer than a stream in memory takes; only a check that fails waits for it. */
const patienceMs = 1000

const within = <A>(promise: Promise<A>): Promise<A | undefined> => {
  const late = Promise.withResolvers<undefined>()
  const timer = setTimeout(late.resolve, patienceMs, undefined)
  return Promise.race([promise, late.promise]).finally(() => clearTimeout(timer))
}

const eventsOf = ({ bytes }: NamedSample): ReadonlyArray<string> => {
  const text = typeof bytes === "string" ? bytes : new TextDecoder().decode(bytes)
  return text.split(/(?<=\r?\n\r?\n)/).filter((event) => event.trim() !== "")
}

/** Gives an event for each read, then falls silent until `signal` ends it, as a connection would. */
const speaking = (events: ReadonlyArray<string>, signal: AbortSignal): ReadableStream<Uint8Array> => {
  const encoder = new TextEncoder()
  const rest = [...events]
  return new ReadableStream<Uint8Array>({
    start: (controller) => {
      signal.addEventListener("abort", () => controller.error(new Error("hung up")), { once: true })
    },
    pull: (controller) => {
      const event = rest.shift()
      if (event === undefined) return new Promise(() => {})
      controller.enqueue(encoder.encode(event))
    },
  })
}

/** The plugin with nothing in its gateway but the one model of the check; `answering`: by itself, in place of a host. */
const alone = (plugin: ProviderPlugin, answering: boolean): ProviderPlugin => ({
  ...plugin,
  // It is configured: it need not be on a second time by itself.
  always: false,
  load: (config) =>
    Either.map(plugin.load(config), (provider) => {
      const { operations, answer } = provider
      const error: Provider["error"] = (status, headers, body) => provider.error(status, headers, body)
      return answering && answer !== undefined ? { operations, error, answer } : { operations, error }
    }),
})

const heartbeat = "\u2026"

const writer: StreamWriter = {
  chunk: (chunk) => JSON.stringify(chunk),
  finish: (chunk) => JSON.stringify(chunk),
  failure: (failure) => failure.message,
  heartbeat,
}

interface Admitted {
  readonly call: Call
  readonly plan: { readonly attempts: ReadonlyArray<Host>; readonly excluded: []; readonly strategy: string }
}

/** Runs `work` in a gateway of its own whose one provider is the plugin. */
const inHouse = async <A>(
  { subject, operation }: FormSubject,
  plugin: ProviderPlugin,
  answer: ProviderSubject["answer"],
  work: (admitted: Admitted) => Effect.Effect<A, Failure, Dispatcher | Relay>,
): Promise<A> => {
  const house = Gateway.servicesOf({ plugins: [plugin], config: gatewayConfig(subject, operation) }).pipe(
    Layer.provideMerge(KeyStore.layer()),
    Layer.provideMerge(MemoryStorage.layer),
    Layer.provide(Upstream.layerFrom(answer ?? (() => new Response(null, { status: 404 })))),
    Layer.provide(Logger.remove(Logger.defaultLogger)),
  )
  const program = Effect.gen(function* () {
    const { resolve } = yield* ProviderRegistry
    const { hosts } = yield* resolve(publicModel)
    return yield* work({ call: callOf(), plan: { attempts: hosts, excluded: [], strategy: "check" } })
  })
  const exit = await Effect.runPromiseExit(Effect.provide(program, house))
  if (Exit.isSuccess(exit)) return exit.value
  const cause = Cause.squash(exit.cause)
  throw cause instanceof RoutingExhausted ? new Error(whyExhausted(cause), { cause }) : cause
}

const whyExhausted = ({ attempts }: RoutingExhausted): string => {
  const said = attempts.map(
    ({ failure }) =>
      `${failure.message}${failure.detail === undefined ? "" : ` ${failure.detail}`}${failure.cause === undefined ? "" : ` ${oneLine(failure.cause)}`}`,
  )
  return `The gateway got no answer out of the given one: ${said.join("; ")} Contract: WireForm.response, Provider.error.`
}

const callOf = (): Call => {
  const id = requestId()
  return new Call(
    {
      requestId: id,
      generationId: generationId(0, id),
      key: { ...unlimitedKey, id: KeyId.make("check") },
      attribution: { appTitle: "", appUrl: "" },
      admittedAt: 0,
    },
    () => performance.now(),
  )
}
