/** The forms, one line each. A form that is missing here does not compile. Where each is sent: `domain/request/forms.ts`. */
import type { FormName } from "../../domain/request/forms.ts"
import { chat } from "./chat/index.ts"
import { completions } from "./completions/index.ts"
import { embeddings } from "./embeddings/index.ts"
import { chatForm, type Form } from "./Form.ts"
import { messages } from "./messages/index.ts"
import { rerank } from "./rerank/index.ts"
import { compact } from "./responses/compact.ts"
import { responses } from "./responses/index.ts"

export const forms: Readonly<Record<FormName, Form>> = {
  chat: chatForm(chat),
  completions: chatForm(completions),
  messages: chatForm(messages),
  responses: chatForm(responses),
  compact,
  embeddings,
  rerank,
}
