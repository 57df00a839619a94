/** The one writer of server-sent events. Their reader is `framing/sse.ts`. */

/** One event with this JSON text as its data. JSON has no raw line breaks, so nothing in it can start a line of its own. */
export const sseEvent = (json: string): string => `data: ${json}\n\n`

/** The same for an event with a name, which has no line breaks. */
export const sseNamed = (name: string, json: string): string => `event: ${name}\ndata: ${json}\n\n`

const nameCharacters = /^[a-z0-9_.]+$/i
const lineBreak = /[\r\n]/

/** Whether a host's name of an event may be passed on: a line break in it would begin a line of its own. */
export const isEventName = (name: string): boolean => nameCharacters.test(name)

/**
 * A host's event as it came; "" where its name may not be passed on. JSON with line breaks between its members is
 * written anew from `event`.
 */
export const ssePassed = (name: string, event: unknown, json: string): string =>
  isEventName(name) ? sseNamed(name, lineBreak.test(json) ? JSON.stringify(event) : json) : ""

/** The end of a stream in the chat form. */
export const sseDone = "data: [DONE]\n\n"

/** Shows the caller that the gateway is alive while the host is silent. */
export const sseComment = ": GW PROCESSING\n\n"
