/** What a plugin's author hands over, and how the checks get at the parts of it. */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type { GatewayConfig } from "../config/GatewayConfig.ts"
import { decodeConfig } from "../config/loadConfig.ts"
import type { FinishReason } from "../domain/Chat.ts"
import { isJsonObject, type JsonObject } from "../domain/Json.ts"
import { problemsOf } from "../domain/Problem.ts"
import type { Provider, ProviderPlugin } from "../plugin/Provider.ts"
import type { WireForm } from "../wire/Form.ts"
import { attempt, must, shown } from "./check.ts"
import { host, model, requestOf, slug } from "./samples.ts"

/** A streamed answer of the vendor, byte for byte as it was recorded. */
export interface StreamSample {
  /** Stands in the names of its checks. Default: its place in the list. */
  readonly name?: string
  /** Which of the plugin's operations reads it. Default: the first. */
  readonly operation?: string
  readonly bytes: string | Uint8Array
  /** What the first choice has to say. */
  readonly expects: { readonly text: string; readonly finishReason?: FinishReason }
}

export interface ProviderSubject {
  /** The plugin's default export. */
  readonly plugin: ProviderPlugin
  /** What an operator writes under `providers.<id>`: the house's fields and the plugin's own. Default: nothing. */
  readonly config?: JsonObject
  /** The vendor, answering a request that is not streamed. For a provider with an `answer` of its own: not needed. */
  readonly answer?: (request: Request) => Response | Promise<Response>
  /** Without them no decoder is held against anything but garbage. Default: none. */
  readonly streams?: ReadonlyArray<StreamSample>
}

/** One wire form of the plugin under test. */
export interface FormSubject {
  readonly subject: ProviderSubject
  readonly operation: string
  /** Loaded anew at each call, so that no check sees what another one left behind. */
  readonly form: () => WireForm
  readonly streams: ReadonlyArray<NamedSample>
}

export type NamedSample = StreamSample & { readonly name: string }

const contract = "ProviderPlugin.load"

/** The configuration of a gateway whose one provider is the plugin, called by `operation` (default: its first). */
export const gatewayConfig = ({ plugin, config = {} }: ProviderSubject, operation?: string): GatewayConfig => {
  const raw = {
    storage: "memory:",
    server: { drain_s: 0 },
    limits: { commit_after_ms: 500 },
    discovery: { environment: false, local: false },
    providers: {
      [slug]: {
        ...(plugin.baseUrl === undefined ? { base_url: "https://host.test/v1" } : {}),
        ...(operation === undefined ? {} : { api: operation }),
        ...config,
        plugin: plugin.id,
      },
    },
    models: [model],
  }
  const decoded = Effect.runSync(Effect.either(decodeConfig(raw)))
  if (Either.isRight(decoded)) return decoded.right
  const said = decoded.left.map(({ path, message }) => `${path}: ${message}`).join("; ")
  throw new Error(`The given configuration is not accepted: ${said}. Contract: the house's fields of a provider.`)
}

/** The part of the given configuration that is the plugin's. */
export const ownConfig = (subject: ProviderSubject): JsonObject => gatewayConfig(subject).providers.get(slug)?.own ?? {}

export const load = (subject: ProviderSubject): Provider => {
  const own = ownConfig(subject)
  const loaded = attempt("load()", contract, () => subject.plugin.load(own))
  if (Either.isRight(loaded)) return loaded.right
  const said = problemsOf(loaded.left.issue).map(({ path, message }) => `${path}: ${message}`)
  throw new Error(`The plugin does not accept the given configuration: ${said.join("; ")}. Contract: ${contract}.`)
}

/** The plugin's wire forms; none when it does not load, which a check of its own says. */
export const formSubjects = (subject: ProviderSubject): ReadonlyArray<FormSubject> => {
  const operations = operationsOf(subject)
  return operations.map((operation) => ({
    subject,
    operation,
    form: () => formOf(load(subject), operation),
    streams: (subject.streams ?? [])
      .map((sample, at) => ({ ...sample, name: sample.name ?? `stream ${at + 1}` }))
      .filter((sample) => (sample.operation ?? operations[0]) === operation),
  }))
}

const operationsOf = (subject: ProviderSubject): ReadonlyArray<string> => {
  try {
    return Object.keys(load(subject).operations)
  } catch {
    return []
  }
}

const formOf = (provider: Provider, operation: string): WireForm => {
  const form = Object.entries(provider.operations).find(([name]) => name === operation)?.[1]
  must(form !== undefined, `load() gave "${operation}" once and not again`, contract)
  return form
}

/** Secrets of the given configuration: what nothing that a plugin writes may hold. */
export const secretsOf = ({ config = {} }: ProviderSubject): ReadonlyArray<string> => {
  const found: Array<string> = []
  const look = (value: unknown): void => {
    if (!isJsonObject(value)) return
    const { env } = value
    const secret = typeof env === "string" ? process.env[env] : undefined
    if (secret !== undefined && secret !== "") found.push(secret)
    for (const member of Object.values(value)) look(member)
  }
  look(config)
  if (typeof config["api_key"] === "string") found.push(config["api_key"])
  return found
}

/** The body that the vendor's `answer` gives to this form's request; `undefined` where there is none. */
export const answerBody = async ({ subject, form }: FormSubject): Promise<unknown> => {
  const answer = subject.answer ?? load(subject).answer
  if (answer === undefined) return undefined
  const { method = "POST", path, headers = {}, body } = form().request(requestOf(false), host)
  const request = new Request(`http://host.test/v1${path}`, { method, headers, body: JSON.stringify(body) })
  const text = await (await answer(request)).text()
  return attempt(`Reading the JSON of the given answer, ${shown(text)},`, "ProviderSubject.answer", () =>
    JSON.parse(text),
  )
}
