/**
 * What models of Bedrock take, where Converse alone does not say it. Ids of inference profiles begin with a region:
 * `us.`.
 */
import type { ModelLimits } from "headgate/plugin"

/** Converse: "Supported models and model features" of AWS's user guide. */
const features =
  "docs.aws.amazon.com/bedrock/latest/userguide/conversation-inference-supported-models-features.html, 2026-11"

export const limits: ReadonlyArray<ModelLimits> = [
  {
    // An ARN of a system-defined profile ends in a model's id, and one of an application in letters.
    models: /^arn:[^/]*:(?:application-inference-profile|provisioned-model|custom-model-deployment)\//,
    source: "docs.aws.amazon.com/bedrock/latest/userguide/inference-profiles-create.html, 2026-11",
    isAlias: true,
  },
  {
    models: /^(?:openai\.gpt-\d|xai\.)/,
    source:
      "docs.aws.amazon.com/bedrock/latest/userguide/model-card-openai-gpt-56-terra.html, 2026-11: Responses, no Converse; xAI: vercel/ai#19150, 2026-08",
    api: "responses",
  },
  {
    models: /^[a-z]+\.(?:openai\.gpt-\d|xai\.)/,
    source:
      "docs.aws.amazon.com/bedrock/latest/userguide/inference-responses-api.md, 2026-11: profiles at bedrock-runtime",
    api: "runtime_responses",
  },
  {
    models: /openai\.gpt-5\.6/,
    source: "docs.aws.amazon.com/bedrock/latest/userguide/model-card-openai-gpt-56-terra.html, 2026-11",
    maxCompletionTokens: 128_000,
  },
  {
    // Without the suffix it is the id of another endpoint.
    models: /^openai\.gpt-oss-(?:20|120)b$/,
    source: "docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-openai.html, 2026-11",
    model: "$&-1:0",
  },
  {
    models: /openai\.gpt-oss|qwen\./,
    source:
      "crewAIInc/crewAI#4046, 2025-12: \"This model doesn't support the stopSequences field\"; AWS's page maps `stop`",
    lacks: ["stop"],
  },
  {
    models: /meta\.llama/,
    source: `${features}: streaming tool use "No"; earendil-works/pi#3739, 2026-04`,
    streamsTools: false,
  },
  {
    models: /meta\.llama/,
    source:
      "docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolChoice.html, 2026-11; aws-samples/bedrock-access-gateway#92",
    toolChoice: { required: false, function: false },
  },
  {
    models: /deepseek\.r1/,
    source: `${features}: tool use "No"; langchain-ai/langchain-aws#447`,
    lacks: ["tools", "tool_choice", "parallel_tool_calls"],
  },
]
