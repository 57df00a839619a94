import type { Endpoint } from "../../catalogue/endpoints.ts"
import { HostFailed } from "../../domain/failures/Failure.ts"
import type { ChatResponse } from "../../domain/request/chat.ts"
import type { ResponseHead } from "../../upstream/Exchange.ts"
import type { AnswerContext } from "../../wire/Protocol.ts"
import { answerBody, refusedBy } from "../calls/answerBody.ts"

/** The failure for a whole answer above `limits.body_bytes`. */
export const tooLong = new HostFailed({ reason: "limit", cause: "the answer is too long" })

/** Reads a complete body as an answer or as a failure. */
export const readAnswer = (
  endpoint: Endpoint,
  head: ResponseHead,
  body: string,
  context: AnswerContext,
): ChatResponse | HostFailed => {
  if (head.status !== 200) return refusedBy(endpoint, head, body)
  const json = answerBody(body)
  return json instanceof HostFailed ? json : endpoint.protocol.decode(head, json, context)
}
