/** `POST /completions`: the legacy form, in which one text is continued. */
import type { ChatRequest } from "../../domain/request/request.ts"
import type { ClientFormat } from "../ClientFormat.ts"
import { answerWriter, chunkWriters } from "../choices.ts"
import { chatErrorBody } from "../errorBody.ts"
import { completionChunks, completionShape } from "./completionsAnswer.ts"
import { completionsForm, completionsTable, decodeCompletions, promptOf } from "./completionsRequest.ts"

/** What the answer begins with: hosts do not repeat the prompt, and nothing is paid for it. */
const echoOf = ({ native }: ChatRequest): string => (native?.body["echo"] === true ? promptOf(native.body) : "")

export const completions: ClientFormat = {
  name: completionsForm,
  decode: decodeCompletions,
  prompt: "prompt",
  answer: (names, request) => answerWriter(names, request.reasoning.exclude, completionShape(echoOf(request))),
  stream: (names, request) => {
    const echo = echoOf(request)
    return chunkWriters(names, () => completionChunks(echo), request.usageChunk === true)
  },
  error: chatErrorBody,
  schema: completionsTable.schema,
}
