/**
 * A provider plugin that speaks the chat protocol and does one thing wrong. It is the only file of the fault tests that
 * depends on the plugin contract.
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { type ChatChunk, type ChatResponse, chatProtocol, defineProvider, httpError } from "headgate/plugin"
import type { Plugin } from "../../../src/plugin/loading/discover.ts"
import { ownPlugins } from "../gateways/gateway.ts"
import { configFor } from "./host.ts"

export interface Odd {
  /** Headers that it adds to each request. */
  readonly headers?: Readonly<Record<string, string>>
  /** Members that it adds to the body of each request. */
  readonly members?: Readonly<Record<string, unknown>>
  /** Answers in place of the network. */
  readonly transport?: (request: Request) => Response | Promise<Response>
  /** What it returns for a whole answer, in place of the right result. */
  readonly whole?: (right: ChatResponse) => unknown
  /** What it returns for one event of a stream, in place of the right chunks. */
  readonly event?: (right: ReadonlyArray<ChatChunk>) => unknown
  /** Thrown while it is loaded. */
  readonly load?: Error
}

/** For `plugin` of a provider. */
export const oddId = "odd"

/** `configFor`, with the odd plugin in the place of the usual one for the provider `first`. */
export const configWithOdd = (hosts: Parameters<typeof configFor>[0], more: Record<string, unknown> = {}) => {
  const { providers, ...rest } = configFor(hosts, more)
  return { ...rest, providers: { ...providers, first: { ...providers["first"], plugin: oddId } } }
}

/** The plugins of the project and the odd one. */
export const withOdd = async (odd: Odd): Promise<ReadonlyArray<Plugin>> => [
  ...(await Effect.runPromise(ownPlugins)),
  defineProvider({ id: oddId, name: "Odd", config: Schema.Struct({}), load: () => providerOf(odd) }),
]

const providerOf = ({ headers, members, transport, whole, event, load }: Odd) => {
  if (load !== undefined) throw load
  const chat = chatProtocol()
  return {
    protocols: {
      chat: {
        ...chat,
        // With this, every event passes through the decoder.
        transparent: event === undefined,
        encode: (...asked: Parameters<typeof chat.encode>) =>
          Either.map(chat.encode(...asked), (encoded) => ({
            ...encoded,
            ...(headers === undefined ? {} : { headers }),
            ...(members === undefined
              ? {}
              : { body: JSON.stringify({ ...JSON.parse(String(encoded.body)), ...members }) }),
          })),
        decode: (...asked: Parameters<typeof chat.decode>) => {
          const right = chat.decode(...asked)
          // A plugin in JavaScript can return anything. The wrong type is what is tested.
          return whole === undefined || "_tag" in right ? right : (whole(right) as ChatResponse)
        },
        decoder: (...asked: Parameters<typeof chat.decoder>) => {
          const decoder = chat.decoder(...asked)
          if (event === undefined) return decoder
          return {
            ...decoder,
            event: (name: string, data: unknown) => {
              const right = decoder.event(name, data)
              // As above.
              return "_tag" in right ? right : (event(right) as ReadonlyArray<ChatChunk>)
            },
          }
        },
      },
    },
    error: httpError,
    ...(transport === undefined ? {} : { transport: async (request: Request) => transport(request) }),
  }
}
