/** `POST /responses/compact`: the decoder is `http/data/responses/compact.ts`. */
import * as Struct from "effect/Struct"
import { noStream } from "./embeddings.ts"
import { modelRules, sharedSchemas } from "./members.ts"
import { responsesUsage } from "./responses.ts"
import {
  anyObject,
  anyOf,
  count,
  type DescribedForm,
  described,
  given,
  listOf,
  named,
  nothing,
  only,
  operation,
  type Schema,
  taken,
  text,
} from "./schema.ts"

const refusedMembers = [
  ...["previous_response_id", "conversation", "prompt", "context_management", "moderation", "access_programs"],
  ...["n", "best_of", "messages", "max_tokens", "max_completion_tokens", "response_format", "verbosity"],
  ...["reasoning_effort", "include_reasoning", "logprobs", "functions", "function_call"],
]
const refused = Object.fromEntries(
  refusedMembers.map((name) => [name, described("Refused, as in ResponsesRequest.", nothing)]),
)
const off = described("Must be false: nothing is stored.", { const: false })

const request: Schema = {
  ...taken({
    ...refused,
    store: off,
    background: off,
    ...Struct.pick(
      sharedSchemas,
      ...(["model", "models", "provider", "route", "preset", "plugins", "transforms", "usage", "session_id"] as const),
      ...(["trace", "debug", "stop_server_tools_when", "service_tier"] as const),
      ...(["prompt_cache_key", "prompt_cache_options"] as const),
    ),
    stream: noStream,
    input: described(
      "A text, or the items of a conversation.",
      anyOf(text, listOf(named("ResponsesItem"), { minItems: 1, maxItems: 4096 })),
    ),
    instructions: text,
    image: described("No path of a machine, and no address within a network.", {
      not: { type: "string", pattern: "^([/\\\\]{2}|[\\\\~.]|/(?!9j/))" },
    }),
    prompt_cache_retention: text,
  }),
  required: ["input"],
  description: "Members that are not listed are not sent, and are named in X-GW-Dropped.",
  allOf: [...modelRules, { properties: { input: { not: nothing } } }],
}

const answer = given(
  {
    id: text,
    object: only("response.compaction"),
    created_at: described("Unix seconds.", count),
    output: described("The items that stand for the conversation in a later input.", listOf(anyObject)),
    usage: responsesUsage,
    openrouter_metadata: anyObject,
  },
  "openrouter_metadata",
)

export const compactForm: DescribedForm = {
  operations: {
    "/api/v1/responses/compact": operation({
      name: "compact",
      description: "A shorter conversation in place of a long one, made by a host of the Responses form.",
      request: named("CompactRequest"),
      answer: named("CompactAnswer"),
      error: named("Error"),
    }),
  },
  schemas: { CompactRequest: request, CompactAnswer: answer },
}
