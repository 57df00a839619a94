/** `POST /messages` and `/messages/count_tokens`. */

import { messagesTable } from "../../formats/messages/readMessagesRequest.ts"
import { countTokensPath, formPath } from "../dataPaths.ts"
import { cost } from "./answers.ts"
import { operation, type Paths } from "./operation.ts"
import { anyObject, count, described, given, listOf, only, orNull, text, titled } from "./schemas.ts"

const answer = titled(
  "MessagesAnswer",
  given({
    id: text,
    type: only("message"),
    role: only("assistant"),
    model: text,
    content: listOf(anyObject),
    stop_reason: orNull(text),
    stop_sequence: orNull(text),
    usage: given({ input_tokens: count, output_tokens: count, cost }),
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
  [formPath("messages")]: {
    post: operation({
      name: "messages",
      description:
        "A message, whole or streamed, as Anthropic's clients ask for it. anthropic-version and anthropic-beta are passed on to hosts of this format.",
      request,
      answer: {
        schema: answer,
        example: {
          id: "gen-1764000000-4fGh2kLm9PqRsT7vWxYz",
          type: "message",
          role: "assistant",
          model: "anthropic/claude-haiku-4.5",
          content: [{ type: "text", text: "Paris." }],
          stop_reason: "end_turn",
          stop_sequence: null,
          usage: { input_tokens: 14, output_tokens: 5, cost: 0.000039 },
        },
      },
      event: {
        schema: described("Named by its type.", given({ type: text })),
        example: { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Paris." } },
      },
      error,
    }),
  },
  [countTokensPath]: {
    post: operation({
      name: "countTokens",
      description: "About how many tokens the prompt has. No host is called.",
      request,
      answer: { schema: given({ input_tokens: count }), example: { input_tokens: 14 } },
      error,
    }),
  },
}
