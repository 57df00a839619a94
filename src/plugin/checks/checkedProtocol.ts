/**
 * Protocols whose hooks keep what the contract promises: of chats, and of operations whose answer comes as a whole. See
 * `checked.ts`.
 */
import * as Either from "effect/Either"
import { HostFailed, Unsupported } from "../../domain/failures/Failure.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import { copied } from "../../domain/json/copied.ts"
import type { JsonObject } from "../../domain/json/json.ts"
import type { ChatChunk, ChatResponse, ChatUsage } from "../../domain/request/chat.ts"
import type { UnaryAnswer } from "../../domain/request/Operation.ts"
import {
  type UnaryAnswers,
  type UnaryName,
  type UnaryRequests,
  unaryNames,
  unaryOperations,
} from "../../domain/request/operations.ts"
import type { ChatRequest, NativeRequest, UnaryRequest } from "../../domain/request/request.ts"
import { readKeepingNumbers } from "../../formats/embeddings/embeddingsNumbers.ts"
import { showable } from "../../formats/httpError.ts"
import { isOurs } from "../../formats/ownProtocols.ts"
import type { AnswerContext, Decoder, Encoded, NativeProtocol, Protocol } from "../../formats/Protocol.ts"
import type { ResponseHead } from "../../wire/head.ts"
import type { UnaryProtocols } from "../unaryProtocols.ts"
import { but } from "./misfit.ts"
import { failedBy, type Hook, hookOf } from "./PluginFault.ts"
import { entered, left } from "./running.ts"
import { expectedOfAnswer, expectedOfChunks, expectedOfDecoder, expectedOfEncoded, expectedOfUnary } from "./shapes.ts"

export interface CheckedProtocol
  extends Pick<Protocol, "framing" | "baseUrl" | "usage" | "usageAfterError" | "transparent" | "passes"> {
  /** How its hosts can be asked to search the web: by callers of any form, or of its own. Never throws. */
  readonly searchesAt?: (host: Host) => Host["searches"]
  readonly encode: (request: ChatRequest, host: Host) => Either.Either<Encoded, Unsupported | HostFailed>
  readonly native?: {
    readonly form: string
    readonly ofEveryHost: boolean
    /** Never throws. Absent: every host speaks the form. */
    readonly isSpokenBy?: (host: Host) => boolean
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

/**
 * `decode` gives what the operation's `isAnswer` takes. Methods, which are compared loosely: the endpoint of a host has
 * the protocol of its model's operation, as a plain `CheckedUnary`.
 */
export interface CheckedUnary<Request = UnaryRequest<UnaryName>, Answer = UnaryAnswer> {
  readonly passes?: Protocol["passes"]
  encode(request: Request, host: Host): Either.Either<Encoded, Unsupported | HostFailed>
  decode(head: ResponseHead, body: unknown, request: Request): Answer | HostFailed
  /** As `UnaryProtocol.readText`. */
  readonly readText?: (text: string) => unknown
  /** As `UnaryProtocol.mostInputs`. If the plugin throws or returns no positive integer: any number. */
  readonly mostInputs?: (host: Host) => number
}

/** By operation. */
export type CheckedUnaries = { readonly [Name in UnaryName]: CheckedUnary<UnaryRequests[Name], UnaryAnswers[Name]> }

export const checkedProtocol = (plugin: string, name: string, protocol: Protocol): CheckedProtocol => {
  const hook = (of: string) => hookOf(plugin, `protocols.${name}`, of)
  const { framing, baseUrl, usage, usageAfterError, transparent, native, passes } = protocol
  return {
    framing,
    ...(baseUrl === undefined ? {} : { baseUrl }),
    ...(usage === undefined ? {} : { usage }),
    ...(usageAfterError === undefined ? {} : { usageAfterError }),
    ...(transparent === undefined ? {} : { transparent }),
    ...(passes === undefined ? {} : { passes }),
    searchesAt: (host) => searchesAt(protocol, host),
    encode: checkedEncode(hook("encode"), (request, host) => protocol.encode(givenTo(protocol, request), host)),
    ...(native === undefined
      ? {}
      : {
          native: {
            form: native.form,
            ofEveryHost: native.ofEveryHost === true,
            ...(native.isSpokenBy === undefined ? {} : { isSpokenBy: (host: Host) => isSpokenBy(native, host) }),
            encode: checkedEncode(hook("native.encode"), (request, written, host) =>
              native.encode(givenTo(protocol, request), nativeGivenTo(protocol, written), host),
            ),
          },
        }),
    decode: checkedDecode(hook("decode"), protocol),
    decoder: checkedDecoder(hook, protocol),
  }
}

/**
 * What an `encode` is given: a copy of the payload, unless the protocol is one of the gateway's own, so that a plugin
 * that changes it does not change what the next host gets. The kit tells its author.
 */
const givenTo = <Request extends { readonly payload: JsonObject }>(protocol: object, request: Request): Request =>
  isOurs(protocol) ? request : { ...request, payload: copied(request.payload) }

const nativeGivenTo = (protocol: object, written: NativeRequest): NativeRequest =>
  isOurs(protocol) ? written : { ...written, body: copied(written.body) }

const searchesAt = ({ searches, native }: Protocol, host: Host): Host["searches"] => {
  try {
    if (searches?.(host) === true) return "any-form"
  } catch {
    // A host is not asked for what its plugin cannot tell of it.
  }
  return native?.searches === true ? "own-form" : undefined
}

const isSpokenBy = (native: NativeProtocol, host: Host): boolean => {
  try {
    return native.isSpokenBy?.(host) === true
  } catch {
    return false
  }
}

/** What the provider has of operations whose answer comes as a whole. */
export const checkedUnaries = (plugin: string, provider: Partial<UnaryProtocols>): Partial<CheckedUnaries> => {
  const unaries: Partial<Record<UnaryName, CheckedUnary>> = {}
  for (const name of unaryNames) {
    const protocol = provider[name]
    if (protocol !== undefined) unaries[name] = checkedUnary(plugin, name, protocol)
  }
  // Each is made of the protocol of the same operation.
  return unaries as Partial<CheckedUnaries>
}

const checkedUnary = <Name extends UnaryName>(
  plugin: string,
  name: Name,
  protocol: UnaryProtocols[Name],
): CheckedUnary<UnaryRequests[Name], UnaryAnswers[Name]> => {
  const decode = hookOf(plugin, name, "decode")
  const { passes, mostInputs } = protocol
  const readText = protocol.readText ?? (unaryOperations[name].givesVectors === true ? readKeepingNumbers : undefined)
  return {
    ...(passes === undefined ? {} : { passes }),
    ...(mostInputs === undefined
      ? {}
      : { mostInputs: checkedMostInputs(hookOf(plugin, name, "mostInputs"), mostInputs) }),
    ...(readText === undefined ? {} : { readText: checkedReadText(hookOf(plugin, name, "readText"), readText) }),
    encode: checkedEncode(hookOf(plugin, name, "encode"), (request, host) =>
      protocol.encode(givenTo(protocol, request), host),
    ),
    decode: (head, body, request) => {
      entered(decode.number)
      try {
        const answer = protocol.decode(head, body, request)
        if (answer instanceof HostFailed) return showable(answer)
        const expected = expectedOfUnary(unaryOperations[name], answer, request.payload)
        return expected === undefined ? withPlainUsage(answer) : failedBy(decode.returned(expected, answer))
      } catch (cause) {
        return failedBy(decode.threw(cause))
      } finally {
        left()
      }
    },
  }
}

const checkedMostInputs =
  (hook: Hook, mostInputs: (host: Host) => number) =>
  (host: Host): number => {
    entered(hook.number)
    try {
      const most = mostInputs(host)
      return Number.isInteger(most) && most > 0 ? most : Number.POSITIVE_INFINITY
    } catch {
      // The host itself refuses a batch that is too long.
      return Number.POSITIVE_INFINITY
    } finally {
      left()
    }
  }

const checkedReadText =
  (hook: Hook, readText: (text: string) => unknown) =>
  (text: string): unknown => {
    entered(hook.number)
    try {
      return readText(text)
    } catch (cause) {
      return failedBy(hook.threw(cause))
    } finally {
      left()
    }
  }

const checkedEncode = <Request extends ReadonlyArray<unknown>>(
  hook: Hook,
  encode: (...request: Request) => Either.Either<Encoded, Unsupported>,
): ((...request: Request) => Either.Either<Encoded, Unsupported | HostFailed>) => {
  const misfit = (expected: string, value: unknown) => Either.left(failedBy(hook.returned(expected, value)))
  return (...request) => {
    entered(hook.number)
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
      return Either.left(failedBy(hook.threw(cause)))
    } finally {
      left()
    }
  }
}

const checkedDecode = (hook: Hook, protocol: Protocol): CheckedProtocol["decode"] => {
  return (head, body, context) => {
    entered(hook.number)
    try {
      const answer = protocol.decode(head, body, context)
      if (answer instanceof HostFailed) return showable(answer)
      const expected = expectedOfAnswer(answer)
      return expected === undefined ? withPlainUsage(answer) : failedBy(hook.returned(expected, answer))
    } catch (cause) {
      return failedBy(hook.threw(cause))
    } finally {
      left()
    }
  }
}

const checkedDecoder = (hookOf: (name: string) => Hook, protocol: Protocol): CheckedProtocol["decoder"] => {
  const hook = hookOf("decoder")
  const hooks = { event: hookOf("decoder.event"), end: hookOf("decoder.end"), done: hookOf("decoder.done") }
  return (head, context) => {
    entered(hook.number)
    try {
      const decoder = protocol.decoder(head, context)
      const expected = expectedOfDecoder(decoder)
      return expected === undefined
        ? guardedDecoder(hooks, decoder)
        : failing(failedBy(hook.returned(expected, decoder)))
    } catch (cause) {
      return failing(failedBy(hook.threw(cause)))
    } finally {
      left()
    }
  }
}

const failing = (failure: HostFailed): Decoder => ({ event: () => failure, end: () => failure })

const guardedDecoder = (hooks: Readonly<Record<"event" | "end" | "done", Hook>>, decoder: Decoder): Decoder => {
  // `done` cannot return a failure. A fault in it ends the stream, and `end` reports it.
  let broken: HostFailed | undefined
  const event: Decoder["event"] = (name, data) => {
    entered(hooks.event.number)
    try {
      return checkedChunks(hooks.event, decoder.event(name, data))
    } catch (cause) {
      return failedBy(hooks.event.threw(cause))
    } finally {
      left()
    }
  }
  const end: Decoder["end"] = () => {
    if (broken !== undefined) return broken
    entered(hooks.end.number)
    try {
      return checkedChunks(hooks.end, decoder.end())
    } catch (cause) {
      return failedBy(hooks.end.threw(cause))
    } finally {
      left()
    }
  }
  if (decoder.done === undefined) return { event, end }
  const done = (): boolean => {
    entered(hooks.done.number)
    try {
      const said: unknown = decoder.done?.()
      if (typeof said === "boolean") return said
      broken = failedBy(hooks.done.returned(but("true or false", said), said))
    } catch (cause) {
      broken = failedBy(hooks.done.threw(cause))
    } finally {
      left()
    }
    return true
  }
  return { event, end, done }
}

const checkedChunks = (hook: Hook, chunks: ReadonlyArray<ChatChunk> | HostFailed) => {
  if (chunks instanceof HostFailed) {
    const { usage } = chunks
    return showable(usage == null ? chunks : chunks.with({ usage: plainUsage(usage) }))
  }
  const expected = expectedOfChunks(chunks)
  if (expected !== undefined) return failedBy(hook.returned(expected, chunks))
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
