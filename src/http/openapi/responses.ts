/** `POST /responses` and `/responses/compact`. */

import { UpgradeRequired } from "../../domain/failures/Failure.ts"
import { responsesTable } from "../../formats/responses/readResponsesRequest.ts"
import { compactSchema } from "../../formats/responses/responsesCompactRequest.ts"
import { formPath } from "../dataPaths.ts"
import { cost } from "./answers.ts"
import { operation, type Paths, refusedGet } from "./operation.ts"
import { anyObject, count, described, errorBody, given, listOf, oneOf, only, orNull, text, titled } from "./schemas.ts"

const usage = given({
  input_tokens: count,
  input_tokens_details: given({ cached_tokens: count, cache_write_tokens: count }),
  output_tokens: count,
  output_tokens_details: given({ reasoning_tokens: count }),
  total_tokens: count,
  cost,
})

const created = described("Unix seconds.", count)

const answer = titled(
  "ResponsesAnswer",
  given({
    id: text,
    object: only("response"),
    created_at: created,
    completed_at: orNull(count),
    status: oneOf("completed", "incomplete", "failed"),
    model: text,
    output: listOf(anyObject),
    error: orNull(anyObject),
    incomplete_details: orNull(anyObject),
    service_tier: text,
    usage,
  }),
)

const compacted = titled(
  "CompactAnswer",
  given(
    {
      id: text,
      object: only("response.compaction"),
      created_at: created,
      output: described("The items that stand for the conversation in a later input.", listOf(anyObject)),
      usage,
      openrouter_metadata: anyObject,
    },
    "openrouter_metadata",
  ),
)

const exampleUsage = {
  input_tokens: 12,
  input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
  output_tokens: 4,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 16,
  cost: 0.000021,
}

const id = "resp_1764000000-4fGh2kLm9PqRsT7vWxYz"
const said = { type: "output_text", text: "Paris.", annotations: [] }

const example = {
  id,
  object: "response",
  created_at: 1764000000,
  completed_at: 1764000001,
  status: "completed",
  model: "openai/gpt-5-mini",
  output: [{ id: "msg_1764000000-0", type: "message", status: "completed", role: "assistant", content: [said] }],
  error: null,
  incomplete_details: null,
  service_tier: "default",
  usage: exampleUsage,
}

const upgradeRefusals = {
  "401": "The key is missing or not accepted.",
  "403": "A management key cannot call models.",
  "404": "The request asks for no upgrade.",
  "426": "The request asks for a WebSocket (error_type upgrade_required): send it with POST.",
  "503": "The gateway takes no requests now.",
}

const upgradeExample = {
  error: {
    code: 426,
    message: new UpgradeRequired().message,
    metadata: { error_type: "upgrade_required" },
  },
}

export const responsesPaths: Paths = {
  [formPath("responses")]: {
    post: operation({
      name: "responses",
      description: "A response, whole or streamed. Nothing is stored: each request has the whole conversation.",
      request: {
        schema: responsesTable.schema,
        example: { model: "openai/gpt-5-mini", input: "What is the capital of France?", max_output_tokens: 200 },
      },
      answer: { schema: answer, example },
      event: {
        schema: described("Named by its type.", given({ type: text, sequence_number: count })),
        example: {
          type: "response.output_text.delta",
          sequence_number: 4,
          item_id: "msg_1764000000-0",
          delta: "Paris.",
        },
      },
      error: errorBody,
    }),
    get: refusedGet(
      {
        name: "responsesUpgrade",
        description: "Refuses a WebSocket. The format is served over HTTP, with POST.",
        error: errorBody,
      },
      upgradeRefusals,
      { "426": upgradeExample },
    ),
  },
}

export const compactPaths: Paths = {
  [formPath("compact")]: {
    post: operation({
      name: "compact",
      description: "A shorter conversation in place of a long one, made by a host of the Responses format.",
      request: {
        schema: compactSchema,
        example: {
          model: "openai/gpt-5-mini",
          input: [
            { role: "user", content: "What is the capital of France?" },
            { role: "assistant", content: "Paris." },
          ],
        },
      },
      answer: {
        schema: compacted,
        example: {
          id,
          object: "response.compaction",
          created_at: 1764000000,
          output: [{ id: "cmp_1", type: "compaction", encrypted_content: "gAAAAABpJ..." }],
          usage: exampleUsage,
        },
      },
      error: errorBody,
    }),
  },
}
