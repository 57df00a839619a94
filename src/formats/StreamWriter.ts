/** Writes one streamed answer in the client's protocol. Implemented by each client protocol. */

import type { Failure } from "../domain/failures/Failure.ts"
import type { Host } from "../domain/hosts/Host.ts"
import type { Charge } from "../domain/money/Charge.ts"
import type { ChatChunk } from "../domain/request/chat.ts"
import type { ChunkWriter } from "./ChunkWriter.ts"

export interface StreamWriter extends ChunkWriter {
  /** The withheld finish with its usage and cost, and the end of the stream. */
  readonly finish: (chunk: ChatChunk, charge: Charge) => string
  /**
   * A failure inside the running stream, with what is charged, and the end of the stream. `undefined` in place of the
   * failure: a defect of ours.
   */
  readonly failure: (failure: Failure | undefined, charge: Charge | undefined) => string
  /** Shows that the gateway is alive. */
  readonly heartbeat: string
}

/** `host` is `undefined` as long as none has answered. */
export type WriterFor = (host: Host | undefined) => StreamWriter
