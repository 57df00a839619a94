/** What a caller reads of an answer in the chat form: strictly, so that a test fails where a client would. */
import { expect } from "bun:test"
import { type Picodollars, parseUsd } from "../../../src/domain/price/money.ts"
import { contentOf, readStrictly } from "./strictSse.ts"

export interface UsageBody {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly total_tokens: number
  readonly cost: number
}

export interface WholeBody {
  readonly id: string
  readonly model: string
  readonly provider: string
  readonly choices: ReadonlyArray<{
    readonly finish_reason: string
    readonly native_finish_reason: string
    readonly message: Readonly<Record<string, unknown>> & { readonly content: string | null }
  }>
  readonly usage: UsageBody
  readonly service_tier: string
}

export interface ChunkBody {
  readonly id: string
  readonly model: string
  readonly choices: ReadonlyArray<{
    readonly delta: Readonly<Record<string, unknown>>
    readonly finish_reason: string | null
    readonly native_finish_reason: string | null
  }>
  readonly usage?: UsageBody
  readonly service_tier?: string
  readonly error?: ErrorBody["error"]
}

export interface ErrorBody {
  readonly error: {
    readonly code: number
    readonly message: string
    readonly metadata?: Readonly<Record<string, unknown>>
    readonly availability?: Readonly<Record<string, unknown>>
  }
}

/** The body of a 200. */
export const wholeBodyOf = async (response: Response): Promise<WholeBody> => {
  expect(response.status).toBe(200)
  expect(response.headers.get("content-type")).toBe("application/json")
  return (await response.json()) as WholeBody
}

/** The body of an error: its code is the status, its message a sentence, and it says which request it was. */
export const errorOf = async (response: Response): Promise<ErrorBody["error"]> => {
  expect(response.headers.get("content-type")).toStartWith("application/json")
  expect(response.headers.get("x-gw-request-id")).toMatch(/^req_[A-Za-z0-9]{24}$/)
  const { error } = (await response.json()) as ErrorBody
  expect(error.code).toBe(response.status)
  expect(error.message).toEndWith(".")
  return error
}

export interface StreamBody {
  readonly chunks: ReadonlyArray<ChunkBody>
  readonly comments: number
  /** The text of all deltas. */
  readonly text: string
  readonly last: ChunkBody
}

/** A whole stream: nothing but data and comments, a blank line after each, and `[DONE]` at the end. */
export const streamOf = async (response: Response): Promise<StreamBody> => {
  expect(response.status).toBe(200)
  expect(response.headers.get("content-type")).toBe("text/event-stream")
  return readStream(await response.text())
}

export const readStream = (written: string): StreamBody => {
  const { events, comments, done } = readStrictly(written)
  expect(done).toBe(true)
  const chunks = events as unknown as ReadonlyArray<ChunkBody>
  const last = chunks.at(-1)
  if (last === undefined) throw new Error("a stream without a chunk")
  return { chunks, comments, text: contentOf(events), last }
}

/** A cost as a caller reads it, number or header, in the unit of the ledger. */
export const picodollars = (cost: number | string | null | undefined): Picodollars => {
  const amount = cost == null ? undefined : parseUsd(cost)
  if (amount === undefined) throw new Error(`no exact amount of money: ${cost}`)
  return amount
}
