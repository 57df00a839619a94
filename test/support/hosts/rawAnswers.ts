/** The bytes of right answers, for hosts that send them in pieces or changed: see rawHost.ts. */
import { chunkOf } from "./host.ts"
import { event, lastPart } from "./rawHost.ts"

const json = JSON.stringify({
  choices: [{ index: 0, message: { role: "assistant", content: "fine" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 10, completion_tokens: 5 },
})

/** Head and body of an answer that is no stream. */
export const whole = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${json.length}\r\n\r\n${json}`

/** An event of a stream with more text. */
export const delta = (content: string) => event(chunkOf({ delta: { content }, finish_reason: null }))

/** The end of a stream: finish, usage, `[DONE]` and the last chunk of the body. */
export const tail = Buffer.concat([
  event(chunkOf({ delta: {}, finish_reason: "stop" })),
  event(JSON.stringify({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 5 } })),
  event("[DONE]"),
  Buffer.from(lastPart),
])
