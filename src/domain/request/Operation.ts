/**
 * An operation: what a host is asked to do, such as to answer a chat or to make embeddings. A value of it has everything that is true
 * of the operation alone. What routing, money and calls do with a request follows from its `bounds` and `needs`, and from here.
 */

import type { JsonObject } from "../json/json.ts"
import type { ChatUsage } from "./chat.ts"
import type { UnaryRequest } from "./request.ts"

/**
 * What every operation has. One that is no `UnaryOperation` is a conversation: its answer is written token by token, may come as a
 * stream, and is paid for by the token. Its turns go to the same host, and its requests may ask for reasoning, tools and searches.
 */
export interface Operation {
  /** Kinds of output (`output_modalities`) by which a model serves the operation. */
  readonly gives: ReadonlySet<string>
  /** What a model of another operation cannot do: `it makes no embeddings`. */
  readonly inability: string
  /** The member of a body that has the prompt. */
  readonly promptMember: string
  /**
   * The top-level members of its canonical form: every protocol knows them, and writes each in its own words or drops it. A member of
   * one operation may be another thing to hosts of another.
   */
  readonly members: ReadonlySet<string>
}

/** A host's answer to a `UnaryOperation`. The gateway adds id, model, provider and cost. */
export interface UnaryAnswer extends JsonObject {
  /** `completion_tokens` is 0. Absent: the host did not count, and the gateway estimates. */
  readonly usage?: ChatUsage
}

/**
 * An operation without output tokens, whose answer comes as a whole. A provider calls its hosts by one protocol. Its functions are
 * methods, which are compared loosely, so that code for all operations can read each as a plain `UnaryOperation`.
 */
export interface UnaryOperation<Payload extends JsonObject = JsonObject, Answer extends UnaryAnswer = UnaryAnswer>
  extends Operation {
  /** Below the base URL of this gateway, and of hosts that do not deviate: `/rerank`. */
  readonly path: `/${string}`
  /** Members whose meaning the gateway gives to an answer itself, where a host cannot. */
  readonly madeHere: ReadonlySet<string>
  /** The type of its answers, with its article, as a plugin is told of one that is none: `a RerankResponse`. */
  readonly answerType: string
  /**
   * Whether its answers are vectors. Their lists of numbers are passed on unread, and do not count as values. Such an
   * answer may have twice the bytes of others. Default: no.
   */
  readonly givesVectors?: boolean
  /** The member of an answer with what was asked for. */
  readonly answerMember: string
  /** What is true of that member, as a plugin is told: `has a vector for each of 2 inputs`. */
  answerRule(payload: Payload): string
  /** Whether that is true of the member. Other members are not looked at, but for `usage`. */
  isAnswer(answer: JsonObject, payload: Payload): answer is Answer
  /** A request for checks of plugins: a host must get every text that begins with HEADGATE. */
  readonly sample: Payload
  /** Members for the same checks that a host may lack. */
  readonly optional: JsonObject
}

/** Members of the canonical form of every operation. */
export const sharedMembers: ReadonlyArray<string> = ["user", "metadata", "service_tier", "safety_identifier"]

/** The request of an operation. `name`: the operation's. */
export type RequestOf<Name extends string, Operation> =
  Operation extends UnaryOperation<infer Payload, infer _> ? UnaryRequest<Name, Payload> : never

/** A host's answer to an operation. */
export type AnswerOf<Operation> = Operation extends UnaryOperation<infer _, infer Answer> ? Answer : never
