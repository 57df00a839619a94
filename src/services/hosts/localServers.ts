/**
 * Looks for model servers while the gateway runs: on this machine, and those of the configuration. Their models appear in the
 * configuration in force when they answer, and are gone when they do not. No request waits for it. A server that was only looked for, and is not
 * configured, gets no key, and only an answer of the right shape counts, since anything may listen at these ports.
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Redacted from "effect/Redacted"
import { authHeaders } from "../../catalogue/endpoints.ts"
import { type FoundServer, modelsOf, mostModels } from "../../catalogue/localServers.ts"
import { ProviderRegistry } from "../../catalogue/ProviderRegistry.ts"
import { type LoadedProvider, openWithoutModels } from "../../catalogue/Providers.ts"
import type { LocalServer } from "../../catalogue/ResolvedConfig.ts"
import { HostFailed } from "../../domain/failures/Failure.ts"
import type { ListedModel } from "../../domain/hosts/ListedModel.ts"
import type { Encoded } from "../../formats/Protocol.ts"
import type { CheckedListing } from "../../plugin/checks/checked.ts"
import { bearer } from "../../plugin/Provider.ts"
import { logEvent } from "../../process/log/logEvent.ts"
import { type HostCaller, Upstream } from "../../upstream/Upstream.ts"
import { parsedBody } from "../calls/answerBody.ts"
import { wholeCall } from "../calls/wholeCall.ts"

/** Between two looks. */
const every = "30 seconds"
/** For one answer. A server of one's own machine that is well takes milliseconds. */
const answerWithin = "2 seconds"
/** For the details of all models of a server: others wait for it. What is missing then is asked for at the next look. */
const detailsWithin = "10 seconds"
/** Looks in a row without an answer after which a server counts as gone: it may be busy loading a model. */
const looksUntilGone = 2
/** Looks that are left out where something else listens, so that it is not asked twice a minute. */
const skippedAfterOther = 9
const longestAnswer = 4 * 1_048_576

export const layerLocalServers: Layer.Layer<never, never, ProviderRegistry | Upstream> = Layer.scopedDiscard(
  Effect.gen(function* () {
    const registry = yield* ProviderRegistry
    const upstream = yield* Upstream
    let watched: ReadonlyArray<Watched> = []
    /** The servers of the configuration in force. What is known of a server that stays is kept. */
    const watch = () => {
      watched = registry
        .current()
        .localServers.map((server) => watched.find((known) => known.isOf(server)) ?? new Watched(upstream, server))
    }
    const show = () => registry.found(watched.flatMap(({ found }) => found ?? []))
    const look = Effect.gen(function* () {
      const changes = yield* Effect.forEach(watched, (one) => one.look(), { concurrency: "unbounded" })
      if (changes.includes(true)) show()
    })
    /** Looks again when the servers of the configuration have changed, else every half minute. */
    const changed = yield* Queue.sliding<void>(1)
    watch()
    yield* registry.onReplaced(() => {
      watch()
      show()
      changed.unsafeOffer()
    })
    const untilChanged = Effect.timeoutOption(Queue.take(changed), every)
    yield* Effect.forkScoped(Effect.forever(Effect.zipRight(look, untilChanged)))
  }),
)

/** Secrets are compared as text: two of them are never equal otherwise. */
const withPlainKey = ({ apiKey, apiKeys, ...settings }: LocalServer["settings"]) => ({
  ...settings,
  keys: [apiKey, ...(apiKeys ?? []).map(({ key }) => key.secret)].map((key) => key && Redacted.value(key)),
})

interface Answer {
  readonly status: number
  readonly body: unknown
}

/** All that a listing says of a model: what changes there is asked for anew. */
const nameOf = (model: ListedModel): string => JSON.stringify(model)

/** One server, and what is known of it. */
class Watched {
  found: FoundServer | undefined
  private readonly upstream: HostCaller
  private readonly server: LocalServer
  private loaded: LoadedProvider | undefined
  /** The listing that `found` was made of; "" while a model of it is not described. */
  private listed = ""
  /** Its models as they were described. */
  private shown = ""
  /** Models as their details describe them, by what the listing said of them. */
  private readonly described = new Map<string, ListedModel>()
  private unansweredLooks = 0
  private looksToSkip = 0

  constructor(upstream: HostCaller, server: LocalServer) {
    this.upstream = upstream
    this.server = server
  }

  /** Whether it is that server, with the same settings. */
  isOf({ settings, plugin, isConfigured }: LocalServer): boolean {
    const { server } = this
    return (
      server.plugin === plugin &&
      server.isConfigured === isConfigured &&
      Bun.deepEquals(withPlainKey(server.settings), withPlainKey(settings))
    )
  }

  private get name(): string {
    const { settings, plugin } = this.server
    return settings.name ?? (settings.slug === plugin.id ? plugin.name : settings.slug)
  }

  /** Whether something changed. Never fails, and says at most a line when it finds or loses the server. */
  look(): Effect.Effect<boolean> {
    if (this.looksToSkip > 0) {
      this.looksToSkip -= 1
      return Effect.succeed(false)
    }
    return Effect.gen(this, function* () {
      const listing = yield* this.listing()
      if (listing === undefined) return false
      const { request, fromRoot } = listing
      const answer = yield* this.ask(request, fromRoot === true)
      if (answer === undefined || answer.status >= 500) return yield* this.unanswered()
      const models = answer.status === 200 ? listing.decode(answer.body) : undefined
      if (models === undefined || models instanceof HostFailed) {
        this.looksToSkip = skippedAfterOther
        return yield* this.gone()
      }
      this.unansweredLooks = 0
      return yield* this.lists(models.slice(0, mostModels), listing)
    })
  }

  /** How it is asked for its models. The plugin's code is loaded only where something listens. */
  private listing(): Effect.Effect<CheckedListing | undefined> {
    if (this.loaded !== undefined) return Effect.succeed(this.loaded.provider.listModels)
    return Effect.gen(this, function* () {
      const { settings, plugin, isConfigured } = this.server
      if (!isConfigured && !(yield* this.isThere())) return undefined
      const opened = yield* Effect.either(openWithoutModels(settings, plugin))
      if (Either.isLeft(opened) || opened.right.provider.listModels === undefined) {
        this.looksToSkip = Number.POSITIVE_INFINITY
        yield* logEvent("local_server_without_models", { server: this.name, plugin: plugin.id })
        return undefined
      }
      this.loaded = opened.right
      return opened.right.provider.listModels
    })
  }

  private lists(models: ReadonlyArray<ListedModel>, listing: CheckedListing): Effect.Effect<boolean> {
    const text = JSON.stringify(models)
    if (this.found !== undefined && this.listed === text) return Effect.succeed(false)
    return Effect.gen(this, function* () {
      const { loaded } = this
      if (loaded === undefined) return false
      this.forgetAllBut(models)
      yield* Effect.forEach(models, (model) => this.describe(model, listing), { concurrency: 4, discard: true }).pipe(
        Effect.timeoutOption(detailsWithin),
      )
      const isComplete = listing.detail === undefined || models.every((model) => this.described.has(nameOf(model)))
      this.listed = isComplete ? text : ""
      const described = models.map((model) => this.described.get(nameOf(model)) ?? model)
      const isNew = this.found === undefined
      if (!isNew && this.shown === JSON.stringify(described)) return false
      this.shown = JSON.stringify(described)
      this.found = { loaded, models: modelsOf(described, this.server) }
      if (isNew) {
        const [first] = this.found.models
        const such = first === undefined ? "" : `, such as ${first.id}`
        const models = this.found.models.length
        yield* logEvent("local_server_found", { server: this.name, url: loaded.baseUrl, models, such })
      }
      return true
    })
  }

  private forgetAllBut(models: ReadonlyArray<ListedModel>): void {
    const current = new Set(models.map(nameOf))
    for (const name of this.described.keys()) if (!current.has(name)) this.described.delete(name)
  }

  /** Asks for the details of a model that are not known. Where the server did not answer, the next look asks again. */
  private describe(model: ListedModel, { detail }: CheckedListing): Effect.Effect<void> {
    const name = nameOf(model)
    if (detail === undefined || this.described.has(name)) return Effect.void
    const asked = detail.request(model.hosts?.[0]?.model ?? model.id)
    if (asked instanceof HostFailed) return Effect.sync(() => this.described.set(name, model))
    return Effect.map(this.ask(asked, false), (answer) => {
      if (answer === undefined || answer.status >= 500) return
      this.described.set(name, answer.status === 200 ? detail.decode(model, answer.body) : model)
    })
  }

  private unanswered(): Effect.Effect<boolean> {
    this.unansweredLooks += 1
    return this.unansweredLooks < looksUntilGone ? Effect.succeed(false) : this.gone()
  }

  private gone(): Effect.Effect<boolean> {
    this.unansweredLooks = 0
    if (this.found === undefined) return Effect.succeed(false)
    this.found = undefined
    this.described.clear()
    return Effect.as(logEvent("local_server_gone", { server: this.name, url: this.loaded?.baseUrl }), true)
  }

  /** A key goes to servers of the configuration alone. */
  private credentials(): Readonly<Record<string, string>> {
    const { isConfigured, settings, plugin } = this.server
    return isConfigured ? authHeaders(plugin.auth ?? bearer, settings.apiKey) : {}
  }

  /** Whether anything at all speaks HTTP there. */
  private isThere(): Effect.Effect<boolean> {
    const { origin } = new URL(this.server.settings.baseUrl ?? "")
    return Effect.map(this.call(`${origin}/`, { method: "GET", path: "/", body: "" }), (answer) => {
      if (answer === "late") this.looksToSkip = skippedAfterOther
      return typeof answer === "object"
    })
  }

  private ask(request: Encoded, fromRoot: boolean): Effect.Effect<Answer | undefined> {
    const baseUrl = this.loaded?.baseUrl ?? ""
    const address = (fromRoot ? new URL(baseUrl).origin : baseUrl) + request.path
    return Effect.map(this.call(address, request), (answer) => (typeof answer === "object" ? answer : undefined))
  }

  /** An answer; or nothing that could be read as one, or none in time. */
  private call(url: string, request: Encoded): Effect.Effect<Answer | "none" | "late"> {
    const { method = "POST", headers = {}, body } = request
    const call = {
      url,
      method,
      headers: {
        accept: "application/json",
        "accept-encoding": "identity",
        "content-type": "application/json",
        ...headers,
        ...this.credentials(),
      },
      body: method === "GET" ? null : body,
      network: "private" as const,
      proxy: this.server.settings.proxy ?? undefined,
    }
    return wholeCall(this.upstream, call, longestAnswer).pipe(
      Effect.map(({ status, body }): Answer | "none" => ({ status, body: parsedBody(body) })),
      Effect.orElseSucceed(() => "none" as const),
      Effect.timeoutTo({ duration: answerWithin, onTimeout: () => "late" as const, onSuccess: (answer) => answer }),
    )
  }
}
