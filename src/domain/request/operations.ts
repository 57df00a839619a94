/**
 * The operations that there are, one line each. The rest of the gateway knows an operation by its value, or by its name as a key of this
 * table; what the other layers add to an operation is listed in `plugin/unaryProtocols.ts`, `http/data/forms.ts` and
 * `http/openapi/document.ts`.
 */

import { chatMembers } from "./chatMembers.ts"
import { embeddings } from "./embeddings.ts"
import type { AnswerOf, Operation, RequestOf } from "./Operation.ts"
import type { ChatRequest } from "./request.ts"
import { rerank } from "./rerank.ts"

const chat: Operation = {
  gives: new Set(["text", "image", "audio"]),
  inability: "it cannot chat",
  promptMember: "messages",
  members: chatMembers,
}

/** Operations whose answer comes as a whole, in the order in which they are described. */
export const unaryOperations = {
  /** Vectors: of models whose `output_modalities` are `embeddings`. */
  embeddings,
  /** Documents by their relevance to a query: of models whose `output_modalities` are `rerank`. */
  rerank,
}

/** By name. Of a model that could serve several, the first one counts. */
export const operations = { chat, ...unaryOperations }

export type UnaryName = keyof typeof unaryOperations
export type OperationName = keyof typeof operations

/** By operation. */
export type UnaryRequests = { readonly [Name in UnaryName]: RequestOf<Name, (typeof unaryOperations)[Name]> }
export type UnaryAnswers = { readonly [Name in UnaryName]: AnswerOf<(typeof unaryOperations)[Name]> }

export type AnyUnaryRequest = UnaryRequests[UnaryName]
export type AnyRequest = ChatRequest | AnyUnaryRequest

const namesOf = <Table extends object>(table: Table): ReadonlyArray<keyof Table> =>
  // A table that is written out has no other keys than its type.
  Object.keys(table) as Array<keyof Table>

export const unaryNames: ReadonlyArray<UnaryName> = namesOf(unaryOperations)
const operationNames: ReadonlyArray<OperationName> = namesOf(operations)

/** Whether answers of the operation come as a whole, and have no output tokens. */
export const isUnaryName = (operation: string): operation is UnaryName => Object.hasOwn(unaryOperations, operation)

/** Whether the answer to the request comes as a whole, and has no output tokens. */
export const isUnary = (request: AnyRequest): request is AnyUnaryRequest => isUnaryName(request.operation)

/** What a model gives: `Architecture.outputModalities`. */
interface Outputs {
  readonly outputModalities: ReadonlyArray<string>
}

/** The one operation that a model serves, by what it gives; `undefined`: none that there is. */
export const operationOf = ({ outputModalities }: Outputs): OperationName | undefined =>
  operationNames.find((name) => outputModalities.some((kind) => operations[name].gives.has(kind)))
