/**
 * Checks what the hooks of a provider return. Plugins may not have been type-checked. When a hook throws or returns
 * something wrong, that becomes a failure of the host with a `PluginFault` as its cause. So the next host is tried, and
 * the log names plugin, member and hook.
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type { ChatChunk, ChatResponse, ChatUsage } from "../domain/Chat.ts"
import { HostFailed, Unsupported } from "../domain/Failure.ts"
import type { Host } from "../domain/Host.ts"
import { isJsonObject, type JsonObject } from "../domain/Json.ts"
import type { ChatRequest } from "../domain/Request.ts"
import { isFraming } from "../wire/framing.ts"
import type { ResponseHead } from "../wire/Head.ts"
import type { AnswerContext, Decoder, Encoded, Protocol } from "../wire/Protocol.ts"
import { type Hook, hookOf, type PluginFault } from "./PluginFault.ts"
import type { Provider, ProviderPlugin } from "./Provider.ts"
import {
  expectedOfAnswer,
  expectedOfChunks,
  expectedOfDecoder,
  expectedOfEncoded,
  expectedOfProtocol,
} from "./shapes.ts"

export interface CheckedProtocol extends Pick<Protocol, "framing" | "usage" | "transparent"> {
  readonly encode: (request: ChatRequest, host: Host) => Either.Either<Encoded, Unsupported | HostFailed>
  readonly decode: (head: ResponseHead, body: unknown, context: AnswerContext) => ChatResponse | HostFailed
  /** When the plugin's decoder could not be made, this one fails at its first event and at its end. */
  readonly decoder: (head: ResponseHead, context: AnswerContext) => Decoder
}

/** The hooks of a provider, which never throw and always return values of their type. */
export interface CheckedProvider extends Pick<Provider, "error" | "baseUrl" | "credentials" | "sign"> {
  readonly protocols: Readonly<Record<string, CheckedProtocol>>
  /** Rejects only with a `HostFailed`. */
  readonly transport?: (request: Request) => Promise<Response>
  readonly listModels?: {
    readonly request: Encoded
    readonly decode: (body: unknown) => ReadonlyArray<JsonObject> | HostFailed
  }
  /** Rejects only with a `PluginFault`. */
  readonly models?: () => Promise<ReadonlyArray<JsonObject>>
}

/** Throws a `PluginFault` when the result of `load` is not a provider. */
export const checkedProvider = (plugin: ProviderPlugin, provider: Provider): CheckedProvider => {
  const hook = (name: string) => hookOf(plugin.id, "", name)
  assertProvider(hook("load"), provider)
  const { baseUrl, credentials, sign, transport, listModels, models } = provider
  const protocols = Object.entries(provider.protocols).map(
    ([name, protocol]) => [name, checkedProtocol(plugin.id, name, protocol)] as const,
  )
  return {
    protocols: Object.fromEntries(protocols),
    error: checkedError(hook("error"), provider),
    ...(baseUrl === undefined ? {} : { baseUrl }),
    ...(credentials === undefined ? {} : { credentials }),
    ...(sign === undefined ? {} : { sign: checkedSign(hook("sign"), sign.bind(provider)) }),
    ...(transport === undefined ? {} : { transport: checkedTransport(hook("transport"), transport.bind(provider)) }),
    ...(listModels === undefined
      ? {}
      : { listModels: checkedListing(hookOf(plugin.id, "listModels", "decode"), listModels) }),
    ...(models === undefined ? {} : { models: checkedModels(hook("models"), models.bind(provider)) }),
  }
}

const failed = (cause: PluginFault): HostFailed => new HostFailed({ reason: "malformed", cause })

// --- protocols

const checkedProtocol = (plugin: string, name: string, protocol: Protocol): CheckedProtocol => {
  const hook = (of: string) => hookOf(plugin, `protocols.${name}`, of)
  const { framing, usage, transparent } = protocol
  return {
    framing,
    ...(usage === undefined ? {} : { usage }),
    ...(transparent === undefined ? {} : { transparent }),
    encode: checkedEncode(hook("encode"), protocol),
    decode: checkedDecode(hook("decode"), protocol),
    decoder: checkedDecoder(hook, protocol),
  }
}

const checkedEncode = (hook: Hook, protocol: Protocol): CheckedProtocol["encode"] => {
  const misfit = (expected: string, value: unknown) => Either.left(failed(hook.returned(expected, value)))
  return (request, host) => {
    try {
      const encoded = protocol.encode(request, host)
      if (!Either.isEither(encoded)) return misfit("an Either of a request", encoded)
      if (Either.isLeft(encoded)) {
        return encoded.left instanceof Unsupported ? encoded : misfit("an Unsupported on the left", encoded.left)
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
      if (answer instanceof HostFailed) return answer
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
      return expected === undefined ? guarded(hooks, decoder) : failing(failed(hook.returned(expected, decoder)))
    } catch (cause) {
      return failing(failed(hook.threw(cause)))
    }
  }
}

const failing = (failure: HostFailed): Decoder => ({ event: () => failure, end: () => failure })

const guarded = (hooks: Readonly<Record<"event" | "end" | "done", Hook>>, decoder: Decoder): Decoder => {
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
      const isDone: unknown = decoder.done?.()
      if (typeof isDone === "boolean") return isDone
      broken = failed(hooks.done.returned("true or false", isDone))
    } catch (cause) {
      broken = failed(hooks.done.threw(cause))
    }
    return true
  }
  return { event, end, done }
}

const checkedChunks = (hook: Hook, chunks: ReadonlyArray<ChatChunk> | HostFailed) => {
  if (chunks instanceof HostFailed) return chunks
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
      return failure instanceof HostFailed ? failure : failed(hook.returned("a HostFailed", failure)).with({ status })
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
      return Effect.isEffect(signing) ? signing : failed(hook.returned("an Effect", signing))
    }).pipe(
      Effect.flatMap(checkedResult),
      Effect.catchAll((failure: unknown) => (failure instanceof HostFailed ? failure : failed(hook.threw(failure)))),
      Effect.catchAllDefect((cause) => failed(hook.threw(cause))),
    )
}

const checkedTransport = (hook: Hook, transport: NonNullable<Provider["transport"]>) => {
  return async (request: Request): Promise<Response> => {
    const answer: unknown = await attempted(
      () => transport(request),
      (cause) => {
        // What the transport calls may be down. That is not a fault of the plugin.
        return cause instanceof HostFailed ? cause : new HostFailed({ reason: "unreachable", cause: hook.threw(cause) })
      },
    )
    if (answer instanceof Response) return answer
    throw failed(hook.returned("a promise of a Response", answer))
  }
}

const checkedListing = (hook: Hook, listing: NonNullable<Provider["listModels"]>) => ({
  request: listing.request,
  decode: (body: unknown): ReadonlyArray<JsonObject> | HostFailed => {
    try {
      const models = listing.decode(body)
      return isList(models) ? models : failed(hook.returned("a list of models", models))
    } catch (cause) {
      return failed(hook.threw(cause))
    }
  },
})

const checkedModels = (hook: Hook, models: NonNullable<Provider["models"]>) => async () => {
  const listed = await attempted(models, hook.threw)
  if (isList(listed)) return listed
  throw hook.returned("a promise of a list of models", listed)
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

// --- the result of load

const assertProvider: (hook: Hook, provider: unknown) => asserts provider is Provider = (hook, provider) => {
  const must = (expected: string) => hook.returned(expected, provider)
  if (!isJsonObject(provider)) throw must("a provider")
  const { protocols, error, baseUrl, credentials, listModels } = provider
  if (!isJsonObject(protocols)) throw must("protocols")
  if (Object.keys(protocols).length === 0) throw must("at least one protocol")
  for (const name in protocols) {
    const protocol = protocols[name]
    const expected = isJsonObject(protocol)
      ? expectedOfProtocol(protocol, isFraming)
      : "framing, encode and so on are given"
    if (expected !== undefined) throw must(`a protocol ${name} whose ${expected}`)
  }
  if (typeof error !== "function") throw must("error as a function")
  for (const name of ["sign", "transport", "models"]) {
    if (provider[name] !== undefined && typeof provider[name] !== "function") throw must(`${name} as a function`)
  }
  if (baseUrl !== undefined && typeof baseUrl !== "string") throw must("baseUrl as text")
  if (credentials !== undefined && !isJsonObject(credentials)) throw must("credentials as an object")
  if (listModels === undefined) return
  const expected = isJsonObject(listModels) ? expectedOfEncoded(listModels["request"]) : "request and decode"
  if (expected !== undefined) throw must(`listModels with ${expected}`)
}
