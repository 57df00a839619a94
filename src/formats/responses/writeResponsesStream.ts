/** A streamed answer in the Responses form: its events, the end with its cost, and failures in the stream. */

import type { Failure } from "../../domain/failures/Failure.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import type { Charge } from "../../domain/money/Charge.ts"
import { noCost } from "../../domain/price/price.ts"
import { noUsage } from "../../domain/price/Usage.ts"
import type { ChatChunk } from "../../domain/request/chat.ts"
import { sseComment } from "../../wire/sse.ts"
import { isFinal, type Rendered } from "../Rendered.ts"
import type { StreamWriter } from "../StreamWriter.ts"
import { NativeEvents } from "./NativeResponsesEvents.ts"
import { OutputItems } from "./output/OutputItems.ts"
import { EventSink } from "./output/responsesEvents.ts"
import { usageBody } from "./responsesUsage.ts"
import { endOf, itemStatusOf, type ResponseNames, type ResponseState, responseBody } from "./writeResponsesAnswer.ts"

const nothing = { usage: noUsage, cost: noCost, upstream: noCost }

export const responseWriter = (names: ResponseNames, host: Host | undefined): StreamWriter =>
  new ResponseWriter(names, host)

/** What surrounds the text of a plain delta where a host's chunk is exchanged without being parsed (`wire/splice.ts`). */
const before = '{"delta":{"content":"'
const after = '"}}'

class ResponseWriter implements StreamWriter {
  readonly native: NativeEvents
  readonly heartbeat = sseComment
  readonly spliceable = {
    json: () => `${before}${JSON.stringify(this.lastText).slice(1, -1)}${after}`,
    text: (json: string) => this.plain(json.slice(before.length, -after.length)),
  }
  private readonly names: ResponseNames
  private readonly host: Host | undefined
  private readonly events = new EventSink()
  private readonly items: OutputItems
  private hasBegun = false
  /** Of the latest delta. */
  private lastText = ""

  constructor(names: ResponseNames, host: Host | undefined) {
    this.names = names
    this.host = host
    this.items = new OutputItems(names, this.events)
    this.native = new NativeEvents(names, host)
  }

  chunk({ choices, service_tier: tier }: ChatChunk): string {
    this.begin(tier)
    this.add(choices)
    return this.events.take()
  }

  finish(chunk: ChatChunk, charge: Charge): string {
    const { choices, service_tier: tier } = chunk
    if (this.native.hasStarted) return this.native.finish(choices[0], charge)
    this.begin(tier)
    this.add(choices)
    return this.end(endOf(choices.find(({ index }) => index === 0)), tier, charge)
  }

  failure(failure: Failure | undefined, charge: Charge | undefined): string {
    const rendered = this.names.rendered(failure)
    if (this.native.hasStarted) {
      return this.native.ended(
        isLength(rendered) ? endOf({ finish_reason: "length" }) : failedOf(rendered),
        charge ?? nothing,
      )
    }
    const hadBegun = this.hasBegun
    this.begin(undefined)
    return this.end(
      hadBegun && isLength(rendered) ? endOf({ finish_reason: "length" }) : failedOf(rendered),
      undefined,
      charge ?? nothing,
    )
  }

  private begin(tier: unknown): void {
    if (this.hasBegun) return
    this.hasBegun = true
    const response = responseBody(this.names, this.host, { status: "in_progress" }, undefined, tier)
    this.events.event("response.created", { response })
    this.events.event("response.in_progress", { response })
  }

  private add(choices: ChatChunk["choices"]): void {
    for (const { index, delta, logprobs } of choices) {
      if (index !== 0) {
        this.items.addCalls(index, delta.tool_calls ?? [])
        continue
      }
      this.items.add(delta, logprobs)
      this.lastText = delta.content ?? ""
    }
  }

  /** A text delta, as it stands in the host's JSON. */
  private plain(written: string): string {
    const text: unknown = written.includes("\\") ? JSON.parse(`"${written}"`) : written
    if (typeof text === "string") this.items.add({ content: text })
    return this.events.take()
  }

  /**
   * Open items end with the response, unless it failed: they are in its output then, as incomplete. An agent carries out a
   * call when it has ended, and a call of an answer that broke off may not be what the model meant.
   */
  private end(state: ResponseState, tier: unknown, charge: Parameters<typeof usageBody>[0]): string {
    if (state.status !== "failed") this.items.close(itemStatusOf(state))
    const response = responseBody(this.names, this.host, state, this.items, tier)
    this.events.event(`response.${state.status}`, { response: { ...response, usage: usageBody(charge) } })
    return this.events.take()
  }
}

/** Failures in the middle of an answer that only say that it would become too long. */
const isLength = ({ errorType }: Rendered): boolean => errorType === "context_length_exceeded"

/**
 * The OpenAI code that makes agents react as to the same failure before a stream: they stop at `invalid_prompt`,
 * compact a prompt that is too long, and retry at the other codes.
 */
const codeOf = (rendered: Rendered): string => {
  const { errorType } = rendered
  if (errorType === "rate_limit_exceeded" || errorType === "context_length_exceeded") return errorType
  return isFinal(rendered) ? "invalid_prompt" : "server_error"
}

const failedOf = (rendered: Rendered): ResponseState => ({
  status: "failed",
  code: codeOf(rendered),
  message: rendered.message,
  errorType: rendered.errorType,
})
