/** The thread of `isolation.ts`: a plugin's protocol, called by messages. */
import { chatProtocol } from "../src/formats/chat/chatHost.ts"
import type { Decoder } from "../src/formats/Protocol.ts"
import { hostFor, requestWith } from "../test/support/recordings/recordings.ts"

/** `bodies`: whole answers. `events`: of one stream. `loop`: never ends. */
export type Asked =
  | { readonly at: number; readonly bodies: ReadonlyArray<unknown> }
  | { readonly at: number; readonly events: ReadonlyArray<unknown> }
  | { readonly at: number; readonly loop: true }

declare const self: Worker

const host = hostFor("upstream")
const context = { request: requestWith({ messages: [{ role: "user", content: "Hi" }] }), host }
const head = { status: 200, headers: new Headers() }
const protocol = chatProtocol({})
let decoder: Decoder | undefined

self.onmessage = ({ data }: MessageEvent<Asked>) => {
  if ("loop" in data) for (;;);
  if ("bodies" in data) {
    self.postMessage({ at: data.at, answers: data.bodies.map((body) => protocol.decode(head, body, context)) })
    return
  }
  decoder ??= protocol.decoder(head, context)
  const made = decoder
  self.postMessage({ at: data.at, answers: data.events.map((event) => made.event("", event)) })
}

self.postMessage({ at: -1, answers: [] })
