/** `POST /messages` and `/messages/count_tokens`: the decoder is `http/data/messages/decode.ts`. */

import { most } from "../decode/members.ts"
import { notOfMessages } from "../decode/notOfMessages.ts"
import { cost, modelRules, otherMembers, otherTool, samplingSchemas, sharedSchemas } from "./members.ts"
import {
  anyObject,
  anyOf,
  count,
  type DescribedForm,
  described,
  filledText,
  flag,
  given,
  integer,
  listOf,
  matching,
  named,
  nothing,
  oneOf,
  only,
  operation,
  orNull,
  type Schema,
  taken,
  text,
  typed,
} from "./schema.ts"

/** Blocks are described by their types alone; the decoder names what is wrong within one. */
const block: Schema = {
  ...taken({ type: text }, "type"),
  description:
    "text, image, document, tool_use, tool_result, thinking or redacted_thinking; other types go to hosts of this form only. Files that are stored at the host are not allowed.",
  not: anyOf(
    { properties: { type: only("container_upload") } },
    {
      properties: { source: { type: "object", properties: { type: only("file") }, required: ["type"] } },
      required: ["source"],
    },
  ),
}
const blocks = anyOf(text, listOf(named("MessagesBlock")))

const turn = taken({ role: oneOf("user", "assistant", "system"), content: blocks }, "role", "content")

const customTool = taken(
  {
    type: only("custom"),
    name: matching("^[a-zA-Z0-9_-]{1,128}$"),
    description: text,
    input_schema: described("JSON Schema of the input.", anyObject),
    strict: flag,
    cache_control: sharedSchemas.cache_control,
  },
  "name",
  "input_schema",
)
const tool = anyOf(customTool, otherTool("custom"))

/** Where `type` is this, another member must be given. */
const needs = (type: string, member: string): Schema => ({
  anyOf: [{ not: { properties: { type: { const: type } } } }, { required: [member] }],
})

const thinking: Schema = {
  ...taken(
    {
      type: oneOf("enabled", "disabled", "adaptive"),
      budget_tokens: described("Required where type is enabled.", integer(1, most.tokens)),
      display: oneOf("summarized", "omitted"),
    },
    "type",
  ),
  ...needs("enabled", "budget_tokens"),
}

const toolChoice: Schema = {
  ...taken(
    {
      type: oneOf("auto", "any", "tool", "none"),
      name: described("Required where type is tool.", filledText),
      disable_parallel_tool_use: flag,
    },
    "type",
  ),
  ...needs("tool", "name"),
}

const format = taken({ type: only("json_schema"), schema: anyObject }, "type", "schema")

const ofOthers = described("A member of another form, which this one refuses.", nothing)
const only1 = described("This form has one answer.", { const: 1 })

const { temperature, top_p, top_k, max_completion_tokens: tokens } = samplingSchemas

const request: Schema = {
  ...taken(
    {
      ...sharedSchemas,
      ...Object.fromEntries(
        Object.keys(notOfMessages).map((name) => [name, ["n", "best_of"].includes(name) ? only1 : ofOthers]),
      ),
      messages: listOf(turn, { minItems: 1, maxItems: 4096 }),
      system: anyOf(text, listOf(typed("text", { text }, "text"))),
      max_tokens: tokens,
      temperature,
      top_p,
      top_k,
      stop_sequences: listOf(text),
      tools: listOf(tool, { maxItems: most.tools }),
      tool_choice: toolChoice,
      thinking,
      output_config: taken({ effort: oneOf("low", "medium", "high", "xhigh", "max"), format, task_budget: anyObject }),
      output_format: format,
      metadata: taken({ user_id: text }),
      service_tier: oneOf("auto", "standard_only", "default", "flex", "priority"),
      modalities: listOf(oneOf("text", "image")),
      context_management: anyObject,
      compaction: anyObject,
      fallbacks: described(
        "Models to try after this one. Not together with models.",
        listOf({ ...taken({ model: sharedSchemas.model }, "model"), additionalProperties: false }, { maxItems: 3 }),
      ),
      diagnostics: { type: "object", properties: { previous_message_id: nothing } },
    },
    "messages",
  ),
  description: otherMembers,
  allOf: [
    ...modelRules,
    {
      not: {
        required: ["fallbacks", "models"],
        properties: { fallbacks: { not: nothing }, models: { not: nothing } },
      },
    },
  ],
}

const answer = given({
  id: text,
  type: only("message"),
  role: only("assistant"),
  model: text,
  content: listOf(anyObject),
  stop_reason: orNull(text),
  stop_sequence: orNull(text),
  usage: given({ input_tokens: count, output_tokens: count, cost }),
})

const error = given({
  type: only("error"),
  error: given(
    { type: text, message: text, error_type: text, metadata: given({ affordable_tokens: count }) },
    "error_type",
    "metadata",
  ),
  request_id: text,
})

export const messagesForm: DescribedForm = {
  operations: {
    "/api/v1/messages": operation({
      name: "messages",
      description:
        "A message, whole or streamed, as Anthropic's clients ask for it. anthropic-version and anthropic-beta are passed on to hosts of this form.",
      request: named("MessagesRequest"),
      answer: named("MessagesAnswer"),
      event: described("Named by its type.", taken({ type: text }, "type")),
      error: named("MessagesError"),
    }),
    "/api/v1/messages/count_tokens": operation({
      name: "countTokens",
      description: "About how many tokens the prompt has. No host is called.",
      request: named("MessagesRequest"),
      answer: given({ input_tokens: count }),
      error: named("MessagesError"),
    }),
  },
  schemas: {
    MessagesRequest: request,
    MessagesBlock: block,
    MessagesAnswer: answer,
    MessagesError: error,
  },
}
