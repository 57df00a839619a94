/** `POST /messages` and `/messages/count_tokens`. */
import { messagesTable } from "../../formats/messages/messagesMembers.ts"
import { countTokensPath, formPath } from "../dataPaths.ts"
import { costing, generationId } from "./answers.ts"
import { type Paths, post } from "./operation.ts"
import { anyObject, count, described, given, like, listOf, only, orNull, text, titled } from "./schemas.ts"

const input_tokens = like(count, 14)

const answer = titled(
  "MessagesAnswer",
  given({
    id: generationId,
    type: only("message"),
    role: only("assistant"),
    model: like(text, "anthropic/claude-haiku-4.5"),
    content: listOf(like(anyObject, { type: "text", text: "Paris." })),
    stop_reason: orNull(like(text, "end_turn")),
    stop_sequence: orNull(text),
    usage: given({ input_tokens, output_tokens: like(count, 5), cost: costing(0.000039) }),
  }),
)

const error = titled(
  "MessagesError",
  given({
    type: only("error"),
    error: given(
      { type: text, message: text, error_type: text, metadata: given({ affordable_tokens: count }) },
      "error_type",
      "metadata",
    ),
    request_id: text,
  }),
)

const request = {
  schema: messagesTable.schema,
  example: {
    model: "anthropic/claude-haiku-4.5",
    max_tokens: 200,
    messages: [{ role: "user", content: "What is the capital of France?" }],
  },
}

export const messagesPaths: Paths = {
  ...post(formPath("messages"), {
    name: "messages",
    description:
      "A message, whole or streamed, as Anthropic's clients ask for it. anthropic-version and anthropic-beta are passed on to hosts of this format.",
    request,
    answer,
    event: like(described("Named by its type.", given({ type: text })), {
      ...{ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Paris." } },
    }),
    error,
  }),
  ...post(countTokensPath, {
    name: "countTokens",
    description: "About how many tokens the prompt has. No host is called.",
    request,
    answer: given({ input_tokens }),
    error,
  }),
}
