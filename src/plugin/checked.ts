/**
 * A provider whose hooks keep what the contract promises. Plugins are JavaScript that was type-checked elsewhere, if at
 * all: whatever one of their hooks throws or returns wrongly becomes a failed host with a `PluginFault` as its cause, so
 * that the next host is tried and the log names plugin, member and hook. What a hook's own `HostFailed` shows of the host
 * is cut and cleaned here, wherever it comes from.
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type { CacheMultipliers } from "../domain/CacheMultipliers.ts"
import type { ChatChunk, ChatResponse, ChatUsage } from "../domain/Chat.ts"
import { type EmbeddingsResponse, inputsOf } from "../domain/Embeddings.ts"
import { HostFailed, Unsupported } from "../domain/Failure.ts"
import type { Host } from "../domain/Host.ts"
import { isJsonObject } from "../domain/Json.ts"
import type { ListedModel } from "../domain/ListedModel.ts"
import type { ChatRequest, EmbeddingsRequest, NativeRequest, RerankRequest } from "../domain/Request.ts"
import type { RerankResponse } from "../domain/Rerank.ts"
import { isFraming } from "../wire/framing.ts"
import type { ResponseHead } from "../wire/Head.ts"
import { showable } from "../wire/httpError.ts"
import type {
  AnswerContext,
  Decoder,
  EmbeddingsProtocol,
  Encoded,
  Protocol,
  RerankProtocol,
  UnaryProtocol,
} from "../wire/Protocol.ts"
import { but } from "./misfit.ts"
import { type Hook, hookOf, type PluginFault } from "./PluginFault.ts"
import type { ListModels, Provider, ProviderPlugin, VendorHost } from "./Provider.ts"
import type { Candidate, RankContext, Reasons, Why } from "./Strategy.ts"
import {
  expectedOfAnswer,
  expectedOfChunks,
  expectedOfDecoder,
  expectedOfEmbeddings,
  expectedOfEncoded,
  expectedOfMultipliers,
  expectedOfProtocol,
  expectedOfRanking,
  expectedOfReasons,
  expectedOfUnaryProtocol,
} from "./shapes.ts"

export interface CheckedProtocol
  extends Pick<Protocol, "framing" | "baseUrl" | "usage" | "usageAfterError" | "transparent"> {
  readonly encode: (request: ChatRequest, host: Host) => Either.Either<Encoded, Unsupported | HostFailed>
  readonly native?: {
    readonly form: string
    readonly encode: (
      request: ChatRequest,
      native: NativeRequest,
      host: Host,
    ) => Either.Either<Encoded, Unsupported | HostFailed>
  }
  readonly decode: (head: ResponseHead, body: unknown, context: AnswerContext) => ChatResponse | HostFailed
  /** When the plugin's decoder could not be made, this one fails at its first event and at its end. */
  readonly decoder: (head: ResponseHead, context: AnswerContext) => Decoder
}

/** `decode` keeps to what the contract says of places: see `EmbeddingsProtocol` and `RerankProtocol`. */
export interface CheckedUnary<Request, Answer> {
  readonly encode: (request: Request, host: Host) => Either.Either<Encoded, Unsupported | HostFailed>
  readonly decode: (head: ResponseHead, body: unknown, request: Request) => Answer | HostFailed
}

export interface CheckedListing extends Pick<ListModels, "request" | "fromRoot"> {
  readonly decode: (body: unknown) => ReadonlyArray<ListedModel> | HostFailed | undefined
  readonly detail?: {
    readonly request: (model: string) => Encoded | HostFailed
    /** The model as it was, where the hook fails. */
    readonly decode: (model: ListedModel, body: unknown) => ListedModel
  }
}

/** The hooks of a provider, which never throw and always return values of their type. */
export interface CheckedProvider extends Pick<Provider, "error" | "baseUrl" | "credentials" | "sign"> {
  readonly protocols: Readonly<Record<string, CheckedProtocol>>
  readonly embeddings?: CheckedUnary<EmbeddingsRequest, EmbeddingsResponse>
  readonly rerank?: CheckedUnary<RerankRequest, RerankResponse>
  /** Rejects only with a `HostFailed`. */
  readonly transport?: (request: Request) => Promise<Response>
  readonly listModels?: CheckedListing
  /** Objects, not looked at further: the catalogue decodes them. Rejects with a `PluginFault` and nothing else. */
  readonly models?: () => Promise<ReadonlyArray<ListedModel>>
  /** Never throws. */
  readonly cacheMultipliers?: (host: VendorHost) => CacheMultipliers | undefined | PluginFault
}

/** Throws a `PluginFault` when the result of `load` is not a provider. */
export const checkedProvider = (plugin: ProviderPlugin, provider: Provider): CheckedProvider => {
  const hook = (name: string) => hookOf(plugin.id, "", name)
  assertProvider(hook("load"), provider)
  const { embeddings, rerank, baseUrl, credentials, sign, transport, listModels, models, cacheMultipliers } = provider
  const protocols = Object.entries(provider.protocols).map(
    ([name, protocol]) => [name, checkedProtocol(plugin.id, name, protocol)] as const,
  )
  return {
    protocols: Object.fromEntries(protocols),
    ...(embeddings === undefined ? {} : { embeddings: checkedEmbeddings(plugin.id, embeddings) }),
    ...(rerank === undefined ? {} : { rerank: checkedRerank(plugin.id, rerank) }),
    error: checkedError(hook("error"), provider),
    ...(baseUrl === undefined ? {} : { baseUrl }),
    ...(credentials === undefined ? {} : { credentials }),
    ...(sign === undefined ? {} : { sign: checkedSign(hook("sign"), sign.bind(provider)) }),
    ...(transport === undefined ? {} : { transport: checkedTransport(hook("transport"), transport.bind(provider)) }),
    ...(listModels === undefined ? {} : { listModels: checkedListing(plugin.id, listModels) }),
    ...(models === undefined ? {} : { models: checkedModels(hook("models"), models.bind(provider)) }),
    ...(cacheMultipliers === undefined
      ? {}
      : { cacheMultipliers: checkedMultipliers(hook("cacheMultipliers"), cacheMultipliers.bind(provider)) }),
  }
}

const failed = (cause: PluginFault): HostFailed => new HostFailed({ reason: "malformed", cause })

// --- protocols

const checkedProtocol = (plugin: string, name: string, protocol: Protocol): CheckedProtocol => {
  const hook = (of: string) => hookOf(plugin, `protocols.${name}`, of)
  const { framing, baseUrl, usage, usageAfterError, transparent, native } = protocol
  return {
    framing,
    ...(baseUrl === undefined ? {} : { baseUrl }),
    ...(usage === undefined ? {} : { usage }),
    ...(usageAfterError === undefined ? {} : { usageAfterError }),
    ...(transparent === undefined ? {} : { transparent }),
    encode: checkedEncode(hook("encode"), (request, host) => protocol.encode(request, host)),
    ...(native === undefined
      ? {}
      : {
          native: {
            form: native.form,
            encode: checkedEncode(hook("native.encode"), (request, written, host) =>
              native.encode(request, written, host),
            ),
          },
        }),
    decode: checkedDecode(hook("decode"), protocol),
    decoder: checkedDecoder(hook, protocol),
  }
}

const checkedEmbeddings = (plugin: string, protocol: EmbeddingsProtocol) =>
  checkedUnary(plugin, "embeddings", protocol, (answer, { payload }) =>
    expectedOfEmbeddings(answer, inputsOf(payload.input).length),
  )

const checkedRerank = (plugin: string, protocol: RerankProtocol) =>
  checkedUnary(plugin, "rerank", protocol, (answer, { payload }) => expectedOfRanking(answer, payload.documents.length))

const checkedUnary = <Request, Answer extends { readonly usage?: ChatUsage }>(
  plugin: string,
  name: string,
  protocol: UnaryProtocol<Request, Answer>,
  expectedOf: (answer: unknown, request: Request) => string | undefined,
): CheckedUnary<Request, Answer> => {
  const decode = hookOf(plugin, name, "decode")
  return {
    encode: checkedEncode(hookOf(plugin, name, "encode"), (request, host) => protocol.encode(request, host)),
    decode: (head, body, request) => {
      try {
        const answer = protocol.decode(head, body, request)
        if (answer instanceof HostFailed) return showable(answer)
        const expected = expectedOf(answer, request)
        return expected === undefined ? withPlainUsage(answer) : failed(decode.returned(expected, answer))
      } catch (cause) {
        return failed(decode.threw(cause))
      }
    },
  }
}

const checkedEncode = <Request extends ReadonlyArray<unknown>>(
  hook: Hook,
  encode: (...request: Request) => Either.Either<Encoded, Unsupported>,
): ((...request: Request) => Either.Either<Encoded, Unsupported | HostFailed>) => {
  const misfit = (expected: string, value: unknown) => Either.left(failed(hook.returned(expected, value)))
  return (...request) => {
    try {
      const encoded = encode(...request)
      if (!Either.isEither(encoded)) return misfit(but("an Either of a request", encoded), encoded)
      if (Either.isLeft(encoded)) {
        const { left } = encoded
        return left instanceof Unsupported ? encoded : misfit(but("an Unsupported on the left", left), left)
      }
      const expected = expectedOfEncoded(encoded.right)
      return expected === undefined ? encoded : misfit(expected, encoded.right)
    } catch (cause) {
      return Either.left(failed(hook.threw(cause)))
    }
  }
}

const checkedDecode = (hook: Hook, protocol: Protocol): CheckedProtocol["decode"] => {
  return (head, body, context) => {
    try {
      const answer = protocol.decode(head, body, context)
      if (answer instanceof HostFailed) return showable(answer)
      const expected = expectedOfAnswer(answer)
      return expected === undefined ? withPlainUsage(answer) : failed(hook.returned(expected, answer))
    } catch (cause) {
      return failed(hook.threw(cause))
    }
  }
}

const checkedDecoder = (hookOf: (name: string) => Hook, protocol: Protocol): CheckedProtocol["decoder"] => {
  const hook = hookOf("decoder")
  const hooks = { event: hookOf("decoder.event"), end: hookOf("decoder.end"), done: hookOf("decoder.done") }
  return (head, context) => {
    try {
      const decoder = protocol.decoder(head, context)
      const expected = expectedOfDecoder(decoder)
      return expected === undefined ? guardedDecoder(hooks, decoder) : failing(failed(hook.returned(expected, decoder)))
    } catch (cause) {
      return failing(failed(hook.threw(cause)))
    }
  }
}

const failing = (failure: HostFailed): Decoder => ({ event: () => failure, end: () => failure })

const guardedDecoder = (hooks: Readonly<Record<"event" | "end" | "done", Hook>>, decoder: Decoder): Decoder => {
  // `done` cannot return a failure. A fault in it ends the stream, and `end` reports it.
  let broken: HostFailed | undefined
  const event: Decoder["event"] = (name, data) => {
    try {
      return checkedChunks(hooks.event, decoder.event(name, data))
    } catch (cause) {
      return failed(hooks.event.threw(cause))
    }
  }
  const end: Decoder["end"] = () => {
    if (broken !== undefined) return broken
    try {
      return checkedChunks(hooks.end, decoder.end())
    } catch (cause) {
      return failed(hooks.end.threw(cause))
    }
  }
  if (decoder.done === undefined) return { event, end }
  const done = (): boolean => {
    try {
      const said: unknown = decoder.done?.()
      if (typeof said === "boolean") return said
      broken = failed(hooks.done.returned(but("true or false", said), said))
    } catch (cause) {
      broken = failed(hooks.done.threw(cause))
    }
    return true
  }
  return { event, end, done }
}

const checkedChunks = (hook: Hook, chunks: ReadonlyArray<ChatChunk> | HostFailed) => {
  if (chunks instanceof HostFailed) return showable(chunks)
  const expected = expectedOfChunks(chunks)
  if (expected !== undefined) return failed(hook.returned(expected, chunks))
  return chunks.some(({ usage }) => usage != null) ? chunks.map(withPlainUsage) : chunks
}

/**
 * Copies the usage to plain data, so that a getter in it throws here, where it is caught, and not when it is read
 * later.
 */
const withPlainUsage = <A extends { readonly usage?: ChatUsage }>(answer: A): A =>
  answer.usage == null ? answer : { ...answer, usage: plainUsage(answer.usage) }

const plainUsage = (usage: ChatUsage): ChatUsage => {
  const plain: { -readonly [K in keyof ChatUsage]: ChatUsage[K] } = { ...usage }
  if (plain.prompt_tokens_details != null) plain.prompt_tokens_details = { ...plain.prompt_tokens_details }
  if (plain.completion_tokens_details != null) plain.completion_tokens_details = { ...plain.completion_tokens_details }
  if (plain.server_tool_use_details != null) plain.server_tool_use_details = { ...plain.server_tool_use_details }
  return plain
}

// --- the other hooks

const checkedError = (hook: Hook, provider: Provider): Provider["error"] => {
  return (status, headers, body) => {
    try {
      const failure: unknown = provider.error(status, headers, body)
      if (failure instanceof HostFailed) return showable(failure)
      return failed(hook.returned(but("a HostFailed", failure), failure)).with({ status })
    } catch (cause) {
      return failed(hook.threw(cause)).with({ status })
    }
  }
}

const checkedSign = (hook: Hook, sign: NonNullable<Provider["sign"]>): NonNullable<Provider["sign"]> => {
  const checkedResult = (signed: Encoded) => {
    const expected = expectedOfEncoded(signed)
    return expected === undefined ? Effect.succeed(signed) : failed(hook.returned(`an Effect of ${expected}`, signed))
  }
  return (encoded, context) =>
    Effect.suspend(() => {
      const signing = sign(encoded, context)
      return Effect.isEffect(signing) ? signing : failed(hook.returned(but("an Effect", signing), signing))
    }).pipe(
      Effect.flatMap(checkedResult),
      Effect.catchAll((failure: unknown) =>
        failure instanceof HostFailed ? showable(failure) : failed(hook.threw(failure)),
      ),
      Effect.catchAllDefect((cause) => failed(hook.threw(cause))),
    )
}

const checkedTransport = (hook: Hook, transport: NonNullable<Provider["transport"]>) => {
  return async (request: Request): Promise<Response> => {
    const answer: unknown = await attempted(
      () => transport(request),
      (cause) => {
        // What it calls in the place of the network may be down: that is no mistake of the plugin.
        return cause instanceof HostFailed ? showable(cause) : new HostFailed({ reason: "unreachable", cause })
      },
    )
    if (answer instanceof Response) return answer
    throw failed(hook.returned(but("a promise of a Response", answer), answer))
  }
}

const checkedListing = (plugin: string, { request, fromRoot, decode, detail }: ListModels): CheckedListing => {
  const hook = (name: string) => hookOf(plugin, "listModels", name)
  return {
    request,
    ...(fromRoot === undefined ? {} : { fromRoot }),
    decode: (body) => {
      try {
        const models = decode(body)
        if (models === undefined || isList(models)) return models
        return failed(hook("decode").returned(but("a list of models, or nothing", models), models))
      } catch (cause) {
        return failed(hook("decode").threw(cause))
      }
    },
    ...(detail === undefined
      ? {}
      : {
          detail: {
            request: (model) => {
              try {
                const asked = detail.request(model)
                const expected = expectedOfEncoded(asked)
                return expected === undefined ? asked : failed(hook("detail.request").returned(expected, asked))
              } catch (cause) {
                return failed(hook("detail.request").threw(cause))
              }
            },
            decode: (model, body) => {
              try {
                const described: unknown = detail.decode(model, body)
                return isJsonObject(described) ? { ...model, ...described } : model
              } catch {
                return model
              }
            },
          },
        }),
  }
}

const checkedModels = (hook: Hook, models: NonNullable<Provider["models"]>) => async () => {
  const listed = await attempted(models, hook.threw)
  if (isList(listed)) return listed
  throw hook.returned(but("a promise of a list of models", listed), listed)
}

const checkedMultipliers =
  (hook: Hook, multipliersOf: NonNullable<Provider["cacheMultipliers"]>) => (host: VendorHost) => {
    try {
      const multipliers = multipliersOf(host)
      const expected = expectedOfMultipliers(multipliers)
      return expected === undefined ? multipliers : hook.returned(expected, multipliers)
    } catch (cause) {
      return hook.threw(cause)
    }
  }

const isList = (value: unknown): boolean => Array.isArray(value) && value.every(isJsonObject)

/** Runs `work`. Anything it throws or rejects with is mapped by `fault`. */
const attempted = async <A>(work: () => Promise<A>, fault: (cause: unknown) => Error): Promise<A> => {
  try {
    return await work()
  } catch (cause) {
    throw fault(cause)
  }
}

// --- strategies

/** Explains the place of a candidate, or says what is wrong with the plugin. Never throws. */
export type CheckedWhy = (candidate: Candidate, context: RankContext) => Reasons | PluginFault

export const checkedWhy = (plugin: string, why: Why): CheckedWhy => {
  const hook = hookOf(plugin, "", "why")
  return (candidate, context) => {
    try {
      const reasons = why(candidate, context)
      const expected = expectedOfReasons(reasons)
      return expected === undefined ? reasons : hook.returned(expected, reasons)
    } catch (cause) {
      return hook.threw(cause)
    }
  }
}

// --- the result of load

const assertProvider: (hook: Hook, provider: unknown) => asserts provider is Provider = (hook, provider) => {
  const misfit = misfitOf(provider)
  if (misfit !== undefined) throw hook.returned(misfit, provider)
}

/** What of the provider is not as its type says; `undefined`: all is. */
const misfitOf = (provider: unknown): string | undefined => {
  if (!isJsonObject(provider) || provider instanceof Promise) return but("a provider", provider)
  const { protocols, error, baseUrl, credentials, listModels } = provider
  if (!isJsonObject(protocols)) return but("protocols: an object", protocols)
  const unary = ["embeddings", "rerank"].filter((name) => provider[name] !== undefined)
  if (Object.keys(protocols).length === 0 && unary.length === 0) return "at least one protocol"
  for (const name in protocols) {
    const protocol = protocols[name]
    if (!isJsonObject(protocol)) return but(`a protocol ${name} that is an object`, protocol)
    const expected = expectedOfProtocol(protocol, isFraming)
    if (expected !== undefined) return `a protocol ${name} whose ${expected}`
  }
  for (const name of unary) {
    const protocol = provider[name]
    if (!isJsonObject(protocol)) return but(`${name} as an object`, protocol)
    const expected = expectedOfUnaryProtocol(protocol)
    if (expected !== undefined) return `${name} whose ${expected}`
  }
  if (typeof error !== "function") return but("error as a function", error)
  for (const name of ["sign", "transport", "models", "cacheMultipliers"]) {
    const member = provider[name]
    if (member !== undefined && typeof member !== "function") return but(`${name} as a function`, member)
  }
  if (baseUrl !== undefined && typeof baseUrl !== "string") return but("baseUrl as text", baseUrl)
  if (credentials !== undefined && !isJsonObject(credentials)) return but("credentials as an object", credentials)
  if (listModels === undefined) return undefined
  if (!isJsonObject(listModels)) return but("listModels with request and decode", listModels)
  if (typeof listModels["decode"] !== "function")
    return but("listModels with decode as a function", listModels["decode"])
  const expected = expectedOfEncoded(listModels["request"])
  return expected === undefined ? undefined : `listModels with ${expected}`
}
