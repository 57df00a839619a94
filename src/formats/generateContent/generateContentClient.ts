/** Google's form for clients: `POST …:generateContent` and `…:streamGenerateContent`, whose stream is events or one JSON array. */
import type { ClientFormat } from "../ClientFormat.ts"
import type { Target } from "../Target.ts"
import { answerWriter, shownTo } from "./generateContentAnswer.ts"
import { generateContentErrorBody } from "./generateContentError.ts"
import { decodeGenerateContent, generateContentForm, generateContentTable } from "./generateContentRequest.ts"
import { EventWriter } from "./generateContentStream.ts"

/** Whether a stream is server-sent events. */
const isEvents = (target: Target): boolean => target.inQuery("alt") === "sse"

export const generateContent: ClientFormat = {
  name: generateContentForm,
  decode: decodeGenerateContent,
  prompt: "contents",
  answer: (names, request) => answerWriter(names, shownTo(request)),
  stream: (names, request, target) => {
    const shown = shownTo(request)
    const asEvents = isEvents(target)
    return (host) => new EventWriter(names, host, shown, asEvents)
  },
  streamType: (target) => (isEvents(target) ? "text/event-stream" : "application/json"),
  error: generateContentErrorBody,
  schema: generateContentTable.schema,
}
