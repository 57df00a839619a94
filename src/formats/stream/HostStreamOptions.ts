/** What the stream of one host is read and written by. */
import type { OutputAllowance } from "../../domain/money/reservation.ts"
import type { Tool } from "../../domain/request/chat.ts"
import type { ChunkWriter } from "../ChunkWriter.ts"
import type { Decoder, Protocol } from "../Protocol.ts"

export interface HostStreamOptions {
  readonly framing: Protocol["framing"]
  /** The longest event that is read, in bytes. Default: 32 MiB. */
  readonly longestEvent?: number | undefined
  /**
   * Whether a long event waits for `HostStream.goOn`, so that it is read in its own turn of the event loop. Default
   * false.
   */
  readonly waits?: boolean | undefined
  /** `Protocol.usage`: which of several reports counts. Default `largest`. */
  readonly usage?: Protocol["usage"] | undefined
  /** `Protocol.transparent`. */
  readonly transparent: boolean
  /** `Protocol.usageAfterError`. Default false. */
  readonly usageAfterError?: boolean | undefined
  /** Whether the events are of the caller's own form: then `ChunkWriter.native` writes them. */
  readonly native?: boolean
  readonly decoder: Decoder
  readonly writer: ChunkWriter
  readonly excludeReasoning: boolean
  /** Removes secrets from the short texts beside the answer. Default: shows them unchanged. */
  readonly shown?: ((text: string) => string) | undefined
  /** The account whose name encrypted reasoning gets. Absent: it gets none. */
  readonly account?: string | undefined
  /** How many answers were requested. Each has its own finish. */
  readonly choices: number
  /** The tools of the request, if it has any: then the tool calls of the answer are checked. */
  readonly tools?: ReadonlyArray<Tool> | undefined
  /** The most UTF-8 bytes of output that the request allows. An estimate of unread output is capped at this. */
  readonly mostBytes?: (() => number) | undefined
  /** What the answer may use of a budget. At the first event for which nothing is left, it is cut. Absent: no limit. */
  readonly output?: OutputAllowance | undefined
}
