/** `POST /responses` and `/responses/compact`. */
import { UpgradeRequired } from "../../domain/failures/Failure.ts"
import { compactSchema } from "../../formats/responses/responsesCompact.ts"
import { responsesTable } from "../../formats/responses/responsesRequest.ts"
import { formPath } from "../dataPaths.ts"
import { costing } from "./answers.ts"
import { operation, type Paths, post, refusedGet } from "./operation.ts"
import { anyObject, count, described, given, like, listOf, oneOf, only, orNull, text, titled } from "./schemas.ts"

const none = like(count, 0)

const usage = given({
  input_tokens: like(count, 12),
  input_tokens_details: given({ cached_tokens: none, cache_write_tokens: none }),
  output_tokens: like(count, 4),
  output_tokens_details: given({ reasoning_tokens: none }),
  total_tokens: like(count, 16),
  cost: costing(0.000021),
})

const id = like(text, "resp_1764000000-4fGh2kLm9PqRsT7vWxYz")
const created_at = like(described("Unix seconds.", count), 1764000000)
const said = { type: "output_text", text: "Paris.", annotations: [] }

const answer = titled(
  "ResponsesAnswer",
  given({
    id,
    object: only("response"),
    created_at,
    completed_at: orNull(like(count, 1764000001)),
    status: like(oneOf("completed", "incomplete", "failed"), "completed"),
    model: like(text, "openai/gpt-5-mini"),
    output: listOf(
      like(anyObject, {
        ...{ id: "msg_1764000000-0", type: "message", status: "completed", role: "assistant", content: [said] },
      }),
    ),
    error: orNull(anyObject),
    incomplete_details: orNull(anyObject),
    service_tier: like(text, "default"),
    usage,
  }),
)

const compacted = titled(
  "CompactAnswer",
  given(
    {
      id,
      object: only("response.compaction"),
      created_at,
      output: described(
        "The items that stand for the conversation in a later input.",
        listOf(like(anyObject, { id: "cmp_1", type: "compaction", encrypted_content: "gAAAAABpJ..." })),
      ),
      usage,
      openrouter_metadata: anyObject,
    },
    "openrouter_metadata",
  ),
)

const upgradeRefusals = {
  "401": "The key is missing or not accepted.",
  "403": "A management key cannot call models.",
  "404": "The request asks for no upgrade.",
  "426": "The request asks for a WebSocket (error_type upgrade_required): send it with POST.",
  "503": "The gateway takes no requests now.",
}

const upgradeExample = {
  error: { code: 426, message: new UpgradeRequired().message, metadata: { error_type: "upgrade_required" } },
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
      answer,
      event: like(described("Named by its type.", given({ type: text, sequence_number: count })), {
        type: "response.output_text.delta",
        sequence_number: 4,
        item_id: "msg_1764000000-0",
        delta: "Paris.",
      }),
    }),
    get: refusedGet(
      {
        name: "responsesUpgrade",
        description: "Refuses a WebSocket. The format is served over HTTP, with POST.",
      },
      upgradeRefusals,
      { "426": upgradeExample },
    ),
  },
}

export const compactPaths = post(formPath("compact"), {
  name: "compact",
  description: "A shorter conversation that replaces a long one, made by a host of the Responses format.",
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
  answer: compacted,
})
