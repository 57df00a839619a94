/** `POST /completions`: the legacy form, in which one text is continued. */
import type { ChatRequest } from "../../../domain/request/request.ts"
import type { WriterFor } from "../../../services/dispatch/StreamWriter.ts"
import { chatErrorBody } from "../../errorBody.ts"
import type { ClientProtocol } from "../ClientProtocol.ts"
import { type AnswerNames, answerWriter, namesOf } from "../chat/answer.ts"
import { chunkWriter } from "../chat/stream.ts"
import { completionShape } from "./answer.ts"
import { completionsForm, completionsTable, decodeCompletions, promptOf } from "./decode.ts"
import { completionChunks } from "./stream.ts"

/** What the answer begins with: hosts do not repeat the prompt, and nothing is paid for it. */
const echoOf = ({ native }: ChatRequest): string => (native?.body["echo"] === true ? promptOf(native.body) : "")

/** Outside of the protocol, so that the writers do not keep the request. */
const writersFor =
  (names: AnswerNames, echo: string): WriterFor =>
  (host) =>
    chunkWriter(names, host, completionChunks(echo))

export const completions: ClientProtocol = {
  name: completionsForm,
  decode: decodeCompletions,
  prompt: "prompt",
  answer: (context, request, shown) =>
    answerWriter(namesOf(context, request, shown), request.reasoning.exclude, completionShape(echoOf(request))),
  stream: (context, request, shown) => writersFor(namesOf(context, request, shown), echoOf(request)),
  error: chatErrorBody,
  schema: completionsTable.schema,
}
