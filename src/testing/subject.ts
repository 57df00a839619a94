/** What a plugin's author passes to the checks, and accessors for it. */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type { GatewayConfig } from "../config/GatewayConfig.ts"
import { decodeConfig } from "../config/loadConfig.ts"
import { isJsonObject, type JsonObject } from "../domain/json/json.ts"
import { problemsOf } from "../domain/json/Problem.ts"
import type { ChatUsage } from "../domain/request/chat.ts"
import type { Protocol } from "../formats/Protocol.ts"
import type { Provider, ProviderPlugin } from "../plugin/Provider.ts"
import { gatheringSecrets } from "../plugin/Secret.ts"
import { attempt, must, shown } from "./Check.ts"
import type { Expected, ExpectedFailure, Lack } from "./Expected.ts"
import { host, model, requestOf, slug } from "./samples.ts"

/** A streamed answer of the vendor, byte for byte as recorded. */
export interface StreamSample {
  /** Part of the names of its checks. Default: its place in the list. */
  readonly name?: string
  /** Which of the plugin's protocols reads it. Default: the first. */
  readonly protocol?: string
  readonly bytes: string | Uint8Array
  /** What it comes to. */
  readonly expects: Expected
}

/** A whole answer of the vendor with status 200. */
export interface AnswerSample {
  /** Part of the names of its checks. Default: its place in the list. */
  readonly name?: string
  /** Which of the plugin's protocols reads it. Default: the first. */
  readonly protocol?: string
  /** JSON, or text where the vendor sent no JSON. */
  readonly body: unknown
  readonly expects: Expected
}

/** An answer of the vendor with another status than 200. */
export interface ErrorSample {
  /** Part of the name of its check. Default: its status. */
  readonly name?: string
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  /** JSON, or text where the vendor sent no JSON. Default: "". */
  readonly body?: unknown
  readonly expects: ExpectedFailure
}

/** An answer to the request for embeddings of the texts `HEADGATE-FIRST` and `HEADGATE-SECOND`. */
export interface EmbeddingsSample {
  readonly body: unknown
  readonly expects: {
    /** The vectors by the places of their texts; texts are base64. */
    readonly vectors: ReadonlyArray<ReadonlyArray<number> | string>
    readonly counted?: ChatUsage | null
  }
}

/** An answer to the request to rank the documents `HEADGATE-FIRST` and `HEADGATE-SECOND`. */
export interface RerankSample {
  readonly body: unknown
  readonly expects: {
    /** The scores by the places of their documents; `null`: it has none. */
    readonly scores: ReadonlyArray<number | null>
    readonly counted?: ChatUsage | null
  }
}

export interface ProviderSubject {
  /** The plugin's default export. */
  readonly plugin: ProviderPlugin
  /** What an operator writes under `providers.<id>`: the gateway's fields and the plugin's own. Default: nothing. */
  readonly config?: JsonObject
  /**
   * Stands in for the vendor. Called with each request of each protocol that is not streamed (their paths and bodies tell
   * them apart) and with the requests that `sign` makes. The answer to a request of a protocol is JSON with status 200, and
   * has a usage. The base URL is not always the plugin's, so read the end of the path. Default: the protocol's first sample
   * of `answers`; without one no whole answer is checked. Not needed for a provider with a `transport`, which answers in its
   * place.
   */
  readonly answer?: (request: Request) => Response | Promise<Response>
  /** Recorded streams. Without them decoders are only tested with random values. Default: none. */
  readonly streams?: ReadonlyArray<StreamSample>
  /** Recorded whole answers. Default: none. */
  readonly answers?: ReadonlyArray<AnswerSample>
  /** Recorded errors. Default: none. */
  readonly errors?: ReadonlyArray<ErrorSample>
  readonly embeddings?: ReadonlyArray<EmbeddingsSample>
  readonly rerank?: ReadonlyArray<RerankSample>
  /** A body that `listModels` reads, and the ids of the models in it. */
  readonly listed?: { readonly body: unknown; readonly expects: ReadonlyArray<string> }
  /** What the vendor's API does not have. Default: nothing is missing. */
  readonly lacks?: ReadonlyArray<Lack>
}

/** One protocol of the plugin under test. */
export interface ProtocolSubject {
  readonly subject: ProviderSubject
  readonly name: string
  /** Loads the plugin again at each call, so that checks do not share state. */
  readonly protocol: () => Protocol
  readonly streams: ReadonlyArray<NamedSample>
  readonly answers: ReadonlyArray<NamedAnswer>
}

export type NamedSample = StreamSample & { readonly name: string }
export type NamedAnswer = AnswerSample & { readonly name: string }

/** Whether the vendor's API does not have this. */
export const isLacking = ({ lacks = [] }: ProviderSubject, what: Lack): boolean => lacks.includes(what)

const contract = "ProviderPlugin.load"

/** The configuration of a gateway whose only provider is the plugin, with the protocol `api` (default: its first). */
export const gatewayConfig = ({ plugin, config = {} }: ProviderSubject, api?: string): GatewayConfig => {
  const raw = {
    storage: "memory:",
    server: { drain_s: 0 },
    // Every request reaches the host, whatever it answered before.
    limits: {
      commit_after_ms: 500,
      breaker: { consecutive_failures: 0, error_rate: 0 },
      cooldown: { account_s: 0, not_found_s: 0, rate_limit_s: 0 },
    },
    discovery: { environment: false, local: false },
    providers: {
      [slug]: {
        ...(plugin.baseUrl === undefined ? { base_url: "https://host.test/v1" } : {}),
        ...(api === undefined ? {} : { api }),
        ...config,
        plugin: plugin.id,
      },
    },
    models: [model],
  }
  const decoded = Effect.runSync(Effect.either(decodeConfig(raw)))
  if (Either.isRight(decoded)) return decoded.right
  const problems = decoded.left.map(({ path, message }) => `${path}: ${message}`).join("; ")
  throw new Error(`The given configuration is not accepted: ${problems}. Contract: the gateway's fields of a provider.`)
}

/** The part of the given configuration that is the plugin's. */
export const ownConfig = (subject: ProviderSubject): JsonObject => gatewayConfig(subject).providers.get(slug)?.own ?? {}

/**
 * The subject with a plugin that loads at once. Where the plugin's `load` gives a promise, it is awaited here, and every check
 * gets that one provider, as all requests of a gateway do.
 */
export const loadedAhead = async (subject: ProviderSubject): Promise<ProviderSubject> => {
  const { plugin } = subject
  const first = promisedBy(subject)
  if (first === undefined) return subject
  const loaded: Either.Either<Provider, unknown> = await first.then(Either.right, Either.left)
  const load: ProviderPlugin["load"] = (raw, context) =>
    Either.map(plugin.load(raw, context), (another) => {
      // Not awaited, so that it would be reported as unhandled where it is rejected.
      if (another instanceof Promise) another.catch(() => {})
      return Either.getOrThrowWith(loaded, (cause) => cause)
    })
  const ahead: LoadedAhead = { ...subject, plugin: { ...plugin, load }, asGiven: plugin }
  return ahead
}

/** A subject whose plugin was loaded before, and the plugin as its author gave it. */
interface LoadedAhead extends ProviderSubject {
  readonly asGiven: ProviderPlugin
}

const isLoadedAhead = (subject: ProviderSubject): subject is LoadedAhead => "asGiven" in subject

/** A provider that no other check has, whether `load` gives it at once or later. */
export const loadedAnew = async (subject: ProviderSubject): Promise<Provider> => {
  const plugin = isLoadedAhead(subject) ? subject.asGiven : subject.plugin
  const loaded = plugin.load(ownConfig({ ...subject, plugin }))
  return Either.isRight(loaded) ? await loaded.right : load(subject)
}

/** The promise that `load` gives. `undefined`: it gives none, or it fails, which a check reports. */
const promisedBy = (subject: ProviderSubject): Promise<Provider> | undefined => {
  try {
    const loaded = subject.plugin.load(ownConfig(subject))
    if (!Either.isEither(loaded) || Either.isLeft(loaded)) return undefined
    return loaded.right instanceof Promise ? loaded.right : undefined
  } catch {
    return undefined
  }
}

export const load = (subject: ProviderSubject): Provider => loadWith(subject, ownConfig(subject))

const loadWith = (subject: ProviderSubject, own: JsonObject): Provider => {
  const loaded = attempt("load()", contract, () => subject.plugin.load(own))
  if (Either.isRight(loaded)) {
    const provider = loaded.right
    must(!(provider instanceof Promise), "load() gave a provider once and a promise another time", contract)
    return provider
  }
  const problems = problemsOf(loaded.left.issue).map(({ path, message }) => `${path}: ${message}`)
  throw new Error(`The plugin does not accept the given configuration: ${problems.join("; ")}. Contract: ${contract}.`)
}

/** The plugin's protocols; none when it does not load, which another check reports. */
export const protocolSubjects = (subject: ProviderSubject): ReadonlyArray<ProtocolSubject> => {
  const own = ownOrNone(subject)
  if (own === undefined) return []
  const names = protocolNames(subject, own)
  return names.map((name) => ({
    subject,
    name,
    protocol: () => protocolOf(loadWith(subject, { ...own }), name),
    streams: (subject.streams ?? [])
      .map((sample, at) => ({ ...sample, name: sample.name ?? `stream ${at + 1}` }))
      .filter((sample) => (sample.protocol ?? names[0]) === name),
    answers: (subject.answers ?? [])
      .map((sample, at) => ({ ...sample, name: sample.name ?? `answer ${at + 1}` }))
      .filter((sample) => (sample.protocol ?? names[0]) === name),
  }))
}

/** `undefined`: the configuration is not accepted. */
const ownOrNone = (subject: ProviderSubject): JsonObject | undefined => {
  try {
    return ownConfig(subject)
  } catch {
    return undefined
  }
}

const protocolNames = (subject: ProviderSubject, own: JsonObject): ReadonlyArray<string> => {
  try {
    return Object.keys(loadWith(subject, { ...own }).protocols)
  } catch {
    return []
  }
}

const protocolOf = (provider: Provider, name: string): Protocol => {
  const protocol = provider.protocols[name]
  must(protocol !== undefined, `load() gave the protocol "${name}" once and not again`, contract)
  return protocol
}

/** What the gateway itself finds of secrets in the plugin's part of the configuration: every `Secret`, however it is given. */
export const secretsRead = (subject: ProviderSubject): ReadonlySet<string> => {
  const read = new Set<string>()
  try {
    gatheringSecrets(read, () => load(subject))
  } catch {
    // Another check reports it.
  }
  return read
}

/** Names of fields whose text is a secret, of whatever schema they are. */
const secretField =
  /(?:^|_|[a-z](?=[A-Z]))(?:key|token|secret|password|passphrase|passwd|pwd|pat|credentials?|auth|authorization|cookie|session|jwt|pem)$/i

/** What a secret looks like, whatever its field is called: a prefix of a vendor's keys, or text without words. */
const looksSecret = (text: string): boolean =>
  /^(?:sk|pk|rk)[-_]\w{6}|^gh[a-z]_|^xox[a-z]-|^AKIA[A-Z0-9]{8}|^AIza|^eyJ|^-----BEGIN/.test(text) ||
  (/^[\w+/=-]{24,}$/.test(text) && /[a-z]/.test(text) && /[A-Z]/.test(text) && /\d/.test(text))

/** Secrets in the given configuration, to any depth. A plugin must not write them anywhere. */
export const secretsOf = (subject: ProviderSubject): ReadonlyArray<string> => {
  const found = new Set(secretsRead(subject))
  const search = (value: unknown, field = ""): void => {
    if (typeof value === "string" && (secretField.test(field) || looksSecret(value))) found.add(value)
    if (Array.isArray(value)) for (const each of value) search(each, field.replace(/s$/, ""))
    if (!isJsonObject(value)) return
    const { env } = value
    const secret = typeof env === "string" ? process.env[env] : undefined
    if (secret !== undefined) found.add(secret)
    for (const [name, member] of Object.entries(value)) search(member, name)
  }
  search(subject.config ?? {})
  return [...found].filter((secret) => secret !== "")
}

/** Stands in for the vendor where it does not stream; `undefined`: nothing does. */
export const answerOf = ({ subject, answers }: ProtocolSubject): ProviderSubject["answer"] => {
  if (subject.answer !== undefined) return subject.answer
  if (load(subject).transport !== undefined) return undefined
  const sample = answers.find(({ expects }) => expects.failure === undefined && expects.counted !== null)
  return sample === undefined ? undefined : () => Response.json(sample.body)
}

/** The body of the vendor's answer to this protocol's request; `undefined` where none was given. */
export const answerBody = async (given: ProtocolSubject): Promise<unknown> => {
  const { subject, protocol } = given
  const provider = load(subject)
  const answer = answerOf(given) ?? provider.transport?.bind(provider)
  if (answer === undefined) return undefined
  const encoded = protocol().encode(requestOf(false, { lacks: subject.lacks }), host)
  if (Either.isLeft(encoded)) throw encoded.left
  const { method = "POST", path, headers = {}, body } = encoded.right
  const request = new Request(`http://host.test/v1${path}`, { method, headers, ...(method === "POST" ? { body } : {}) })
  const text = await (await answer(request)).text()
  return attempt(`Reading the JSON of the given answer, ${shown(text)},`, "ProviderSubject.answer", () =>
    JSON.parse(text),
  )
}
