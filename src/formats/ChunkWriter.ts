/** How the client forms write the events of a stream (`http/data/<form>`). Synchronous: called for each event of a host. */

import type { HostFailed } from "../domain/failures/Failure.ts"
import type { JsonObject } from "../domain/json/json.ts"
import type { ChatChunk } from "../domain/request/chat.ts"

/** Passes the events of a host on to a caller who speaks the host's form. Synchronous; made for one answer. */
export interface NativeWriter {
  /** The caller's text for an event; "" while it is withheld. `HostFailed`: it breaks the form. */
  readonly event: (name: string, event: JsonObject, json: string) => string | HostFailed
  /** Whether an event came that says something, so that no other host may take over. */
  readonly hasSpoken: boolean
  /**
   * UTF-8 bytes of text in an event that needs no reading, because it is a text delta in the form's usual spelling; 0 for
   * any other event.
   */
  readonly plainBytes: (json: string) => number
  /** The caller's text for such an event. */
  readonly plain: (json: string) => string
}

/** Writes canonical chunks in the client's protocol. Synchronous; made for one answer. */
export interface ChunkWriter {
  /** Writes one chunk that is not empty. */
  readonly chunk: (chunk: ChatChunk) => string
  /**
   * The JSON in the text of `chunk`, and the text around any JSON. Present when plain text deltas can be spliced
   * (`wire/splice.ts`).
   */
  readonly spliceable?: { readonly json: (text: string) => string; readonly text: (json: string) => string } | undefined
  /** Present where hosts may speak the client's form. */
  readonly native?: NativeWriter
}
