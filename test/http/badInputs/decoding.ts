import * as Either from "effect/Either"
import type { BadRequest } from "../../../src/domain/failures/Failure.ts"
import type { Issue } from "../../../src/domain/json/checks.ts"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import type { ChatRequest } from "../../../src/domain/request/request.ts"
import { decodeChat } from "../../../src/formats/chat/chatRequest.ts"
import { parseBody } from "../../../src/http/parseBody.ts"

export const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)

export const decodeBytes = (bytes: Uint8Array): Either.Either<ChatRequest, BadRequest> =>
  Either.flatMap(parseBody(bytes), (body) => decodeChat(body))

export const decodeText = (text: string) => decodeBytes(bytesOf(text))

export const issuesOf = (result: Either.Either<unknown, BadRequest>): ReadonlyArray<Issue> =>
  Either.isLeft(result) ? result.left.issues : []

export const accepted = <A>(result: Either.Either<A, BadRequest>): A => {
  if (Either.isLeft(result)) throw new Error(`refused: ${result.left.message}`)
  return result.right
}

export const user = { role: "user", content: "Hello." }
/** Members that a request has as fields of its own. */
export const apart = [
  ...["model", "stream", "stream_options", "max_tokens", "max_completion_tokens"],
  ...["reasoning", "reasoning_effort", "include_reasoning"],
]
export const minimal = { model: "acme/small", messages: [user] }
export const decode = (more: JsonObject) => {
  const text = JSON.stringify({ ...minimal, ...more })
  return decodeText(text)
}
export const messages = (...turns: ReadonlyArray<unknown>) => ({ messages: turns })
export const parts = (...content: ReadonlyArray<unknown>) => messages({ role: "user", content })
export const tool = (definition: unknown) => ({ tools: [{ type: "function", function: definition }] })
export const provider = (preferences: unknown) => ({ provider: preferences })
export const call = { id: "c1", type: "function", function: { name: "f", arguments: "{}" } }
export const times = <A>(count: number, value: A): ReadonlyArray<A> => Array.from({ length: count }, () => value)
