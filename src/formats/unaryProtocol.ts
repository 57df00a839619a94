/**
 * The protocol of an operation whose answer comes as a whole, as OpenAI and compatible hosts speak it: one `POST` with the members of
 * the payload and the model, answered by an object with `usage`.
 */
import * as Either from "effect/Either"
import { HostFailed, Unsupported } from "../domain/failures/Failure.ts"
import type { Host } from "../domain/hosts/Host.ts"
import { isJsonObject, type JsonObject } from "../domain/json/json.ts"
import type { ChatUsage } from "../domain/request/chat.ts"
import type { UnaryAnswer, UnaryOperation } from "../domain/request/Operation.ts"
import type { UnaryRequest } from "../domain/request/request.ts"
import { errorInBody, malformed } from "./httpError.ts"
import { jsonBody, type UnaryProtocol } from "./Protocol.ts"

/** How one host deviates. */
export interface UnaryQuirks {
  /** As `Protocol.passes`. */
  readonly passes?: "any" | ReadonlyArray<string>
  /** Members of a request that the host refuses. `model` and what is asked about are always sent. */
  readonly drop?: ReadonlyArray<string>
}

/** How an operation deviates, or one of its hosts. */
interface Deviations<Payload extends JsonObject>
  extends Pick<UnaryProtocol<unknown, unknown>, "readText" | "mostInputs"> {
  /** Below the base URL. Default: the operation's. */
  readonly path?: ((upstreamModel: string) => string) | undefined
  /** The host's own names of members. */
  readonly names?: Readonly<Record<string, string>>
  /** Members of the payload in the host's words, which are always sent. */
  readonly write?: (payload: Payload, host: Host) => JsonObject | Unsupported
  /** The member that a list stands for where some hosts answer with a list alone. */
  readonly listed?: string
  /** The answer in the canonical form, without its usage. */
  readonly read?: (answer: JsonObject, payload: Payload) => JsonObject
  readonly usage?: (answer: JsonObject, request: UnaryRequest<string, Payload>) => CountedUsage
}

interface CountedUsage {
  readonly usage?: ChatUsage
}

export const unaryProtocol = <Name extends string, Payload extends JsonObject, Answer extends UnaryAnswer>(
  operation: UnaryOperation<Payload, Answer>,
  { passes = [], drop = [] }: UnaryQuirks = {},
  { path, names = {}, write, listed, read, usage = promptUsage, ...more }: Deviations<Payload> = {},
): UnaryProtocol<UnaryRequest<Name, Payload>, Answer> => {
  const refused = new Set(drop)
  const hostNames = new Map(Object.entries(names))
  return {
    ...more,
    passes,
    encode: ({ payload }, host) => {
      const { upstreamModel: model } = host
      const written = write?.(payload, host)
      if (written instanceof Unsupported) return Either.left(written)
      const { body, dropped } = membersFor(payload, refused, hostNames)
      const sent = jsonBody({ ...body, model, ...written })
      const lost = dropped.filter((name) => !operation.madeHere.has(name))
      return Either.right({ path: path?.(model) ?? operation.path, ...sent, dropped: lost })
    },
    decode: (_head, body, request) => {
      const { payload } = request
      const given = answerIn(listed !== undefined && Array.isArray(body) ? { [listed]: body } : body)
      if (given instanceof HostFailed) return given
      const { usage: _, ...members } = read?.(given, payload) ?? given
      const answer: JsonObject = { ...members, ...usage(given, request) }
      return operation.isAnswer(answer, payload) ? answer : malformed()
    },
  }
}

/** The members of a payload for a host that refuses some of them and has names of its own for others. */
const membersFor = (payload: JsonObject, refused: ReadonlySet<string>, hostNames: ReadonlyMap<string, string>) => {
  const body: Record<string, unknown> = {}
  const dropped: Array<string> = []
  for (const name in payload) {
    if (!refused.has(name)) body[hostNames.get(name) ?? name] = payload[name]
    else if (payload[name] != null) dropped.push(name)
  }
  return { body, dropped }
}

/** The object of an answer with status 200, or the failure that it reports. */
const answerIn = (body: unknown): JsonObject | HostFailed => {
  if (!isJsonObject(body)) return malformed()
  return body["error"] == null ? body : errorInBody(body["error"])
}

/** The usage of an operation without output. Hosts give both totals or one of them. */
export const promptUsage = ({ usage }: JsonObject): CountedUsage => {
  if (!isJsonObject(usage)) return {}
  const { prompt_tokens: prompt, total_tokens: total, prompt_tokens_details: details } = usage
  if (prompt == null && total == null) return {}
  const tokens = { prompt_tokens: prompt ?? total, completion_tokens: 0 }
  return { usage: isJsonObject(details) ? { ...tokens, prompt_tokens_details: details } : tokens }
}
