/** `POST /responses`: the decoder is `http/data/responses/decode.ts`. */
import * as Struct from "effect/Struct"
import { textSchemas, topLogprobs } from "./chat.ts"
import { cost, modelRules, otherMembers, otherTool, reasoningRules, samplingSchemas, sharedSchemas } from "./members.ts"
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
  refusedGet,
  type Schema,
  shortText,
  taken,
  text,
  typed,
} from "./schema.ts"

const itemTypes = oneOf(
  ...["function_call", "function_call_output", "reasoning", "image_generation_call", "web_search_call"],
  ...["compaction_trigger", "compaction", "compaction_summary", "context_compaction"],
  ...["custom_tool_call", "custom_tool_call_output", "additional_tools", "tool_search_call", "tool_search_output"],
  ...["local_shell_call", "local_shell_call_output", "shell_call", "shell_call_output", "apply_patch_call"],
  ...["apply_patch_call_output", "computer_call", "computer_call_output", "agent_message"],
)

/** Items are described by their types alone; the decoder names what is wrong within one. */
const item = anyOf(
  {
    type: "object",
    properties: { type: itemTypes },
    required: ["type"],
  },
  {
    type: "object",
    properties: { type: orNull(only("message")), role: oneOf("user", "system", "developer", "assistant") },
    required: ["role"],
  },
)

const functionName = matching("^[a-zA-Z0-9_-]{1,64}$")

const functionTool = typed(
  "function",
  { name: functionName, description: text, parameters: anyObject, strict: flag, cache_control: anyObject },
  "name",
)

const customTool = typed("custom", { name: functionName, description: text, format: anyObject }, "name")

const tool = anyOf(
  functionTool,
  typed(
    "namespace",
    {
      name: functionName,
      description: text,
      tools: listOf(anyOf(functionTool, customTool), { minItems: 1, maxItems: 512 }),
    },
    "name",
    "tools",
  ),
  customTool,
  typed("tool_search", { description: text, parameters: anyObject }),
  taken(
    {
      type: matching("^((open)?router:)?web_search(_preview)?(_\\d{4}_\\d{2}_\\d{2})?$"),
      search_context_size: oneOf("low", "medium", "high"),
      user_location: anyObject,
    },
    "type",
  ),
  otherTool("function", "namespace", "custom", "tool_search", "web_search", "web_search_preview"),
)

const namedTools = ["function", "custom"].map((type) => typed(type, { name: filledText }, "name"))

const toolChoice = described(
  "Tools of the caller that are named must be among the tools, or those that items add.",
  anyOf(
    oneOf("none", "auto", "required"),
    ...namedTools,
    typed(
      "allowed_tools",
      {
        mode: oneOf("auto", "required"),
        tools: listOf(
          anyOf(
            ...namedTools,
            typed("namespace", { name: filledText }, "name"),
            otherTool("function", "custom", "namespace"),
          ),
          { minItems: 1, maxItems: 512 },
        ),
      },
      "mode",
      "tools",
    ),
    otherTool("function", "custom", "allowed_tools"),
  ),
)

const textConfig = taken({
  format: anyOf(
    typed("text", {}),
    typed("json_object", {}),
    typed("json_schema", { name: functionName, description: text, schema: anyObject, strict: flag }, "name", "schema"),
  ),
  verbosity: samplingSchemas.verbosity,
})

const include = oneOf(
  ...["reasoning.encrypted_content", "message.output_text.logprobs", "message.input_image.image_url"],
  ...["web_search_call.results", "web_search_call.action.sources", "file_search_call.results"],
  ...["code_interpreter_call.outputs", "computer_call_output.output.image_url"],
)

const elsewhere = (own: string): Schema => described(`Refused: use ${own} here.`, nothing)
const stateless = described("Refused: nothing is stored for callers. Send the whole conversation in input.", nothing)
const notPassedOn = described("Refused: this gateway cannot pass it on.", nothing)
const off = (what: string): Schema => described(`Must be false: ${what}.`, { const: false })

const sampling = Struct.omit(
  samplingSchemas,
  ...(["max_tokens", "max_completion_tokens", "verbosity", "reasoning_effort", "include_reasoning"] as const),
)
const tokens = samplingSchemas.max_completion_tokens

const request: Schema = {
  ...taken({
    ...sharedSchemas,
    input: described(
      "A text, or the items of a conversation.",
      anyOf(text, listOf(named("ResponsesItem"), { minItems: 1, maxItems: 4096 })),
    ),
    instructions: text,
    ...sampling,
    max_output_tokens: tokens,
    max_tool_calls: tokens,
    top_logprobs: topLogprobs,
    parallel_tool_calls: flag,
    structured_outputs: textSchemas.structured_outputs,
    web_search_options: textSchemas.web_search_options,
    tools: listOf(tool, { maxItems: 512 }),
    tool_choice: toolChoice,
    text: textConfig,
    include: listOf(include),
    truncation: oneOf("auto", "disabled"),
    stream_options: taken({ include_obfuscation: flag }),
    modalities: listOf(oneOf("text", "image")),
    image_config: anyObject,
    image: described("Only hosts of this form get it. No path of a machine, and no address within a network.", {
      not: { type: "string", pattern: "^([/\\\\]{2}|[\\\\~.]|/(?!9j/))" },
    }),
    user: shortText(256),
    safety_identifier: text,
    prompt_cache_retention: text,
    store: off("responses are not stored"),
    background: off("responses are not stored, so none could be fetched later"),
    previous_response_id: stateless,
    conversation: stateless,
    prompt: stateless,
    context_management: notPassedOn,
    moderation: notPassedOn,
    access_programs: notPassedOn,
    n: described("Refused: this form has one answer.", nothing),
    best_of: described("Refused: this form has one answer.", nothing),
    messages: elsewhere("input"),
    max_tokens: elsewhere("max_output_tokens"),
    max_completion_tokens: elsewhere("max_output_tokens"),
    response_format: elsewhere("text.format"),
    verbosity: elsewhere("text.verbosity"),
    reasoning_effort: elsewhere("reasoning.effort"),
    include_reasoning: elsewhere("reasoning.exclude"),
    logprobs: elsewhere("include"),
    functions: elsewhere("tools"),
    function_call: elsewhere("tool_choice"),
  }),
  required: ["input"],
  description: otherMembers,
  allOf: [...modelRules, ...reasoningRules, { properties: { input: { not: nothing } } }],
}

export const responsesUsage = given({
  input_tokens: count,
  input_tokens_details: given({ cached_tokens: count, cache_write_tokens: count }),
  output_tokens: count,
  output_tokens_details: given({ reasoning_tokens: count }),
  total_tokens: count,
  cost,
})

const answer = given({
  id: text,
  object: only("response"),
  created_at: described("Unix seconds.", count),
  completed_at: orNull(count),
  status: oneOf("completed", "incomplete", "failed"),
  model: text,
  output: listOf(anyObject),
  error: orNull(anyObject),
  incomplete_details: orNull(anyObject),
  service_tier: text,
  usage: responsesUsage,
})

export const responsesForm: DescribedForm = {
  operations: {
    "/api/v1/responses": operation({
      name: "responses",
      description: "A response, whole or streamed. Nothing is stored: each request has the whole conversation.",
      request: named("ResponsesRequest"),
      answer: named("ResponsesAnswer"),
      event: described("Named by its type.", given({ type: text, sequence_number: integer(0, 2 ** 31 - 1) })),
      error: named("Error"),
    }),
  },
  getOperations: {
    "/api/v1/responses": refusedGet(
      {
        name: "responsesUpgrade",
        description: "Refuses a WebSocket. The form is served over HTTP, with POST.",
        error: named("Error"),
      },
      {
        "401": "The key is missing or not accepted.",
        "403": "A management key cannot call models.",
        "404": "The request asks for no upgrade.",
        "426": "The request asks for a WebSocket (error_type upgrade_required): send it with POST.",
        "503": "The gateway takes no requests now.",
      },
    ),
  },
  schemas: { ResponsesRequest: request, ResponsesItem: item, ResponsesAnswer: answer },
}
