/** The members of a request of the Messages format, and their checks. */
import {
  anyObject,
  anything,
  type Check,
  checkThat,
  described,
  exactly,
  listOf,
  objectOf,
  oneOf,
  refined,
  refused,
  report,
  text,
} from "../../domain/json/checks.ts"
import { isJsonObject, objectIn } from "../../domain/json/json.ts"
import { insteadIn, type PlacedParameter, placedIn } from "../../domain/request/placedParameters.ts"
import { stored } from "../payload/names.ts"
import { memberTable, model, sharedMembers, tokenCount } from "../request/members.ts"
import { ruleOf } from "../request/rules.ts"
import { thinkingCheck } from "./messagesThinking.ts"
import { toolChoice, tools } from "./messagesTools.ts"
import { turnMembers } from "./messagesTurns.ts"

/** Name of the form. */
export const messagesForm = "messages"

/** Parameters that this form has with a value of the canonical form. */
export const parameters: ReadonlyArray<PlacedParameter> = placedIn("messages")

const format = objectOf({ type: oneOf("json_schema"), schema: anyObject }, "type", "schema")
const outputConfig = objectOf({
  effort: oneOf("low", "medium", "high", "xhigh", "max"),
  format,
  task_budget: anyObject,
})

const mostFallbacks = 3
const fallback = refined(objectOf({ model }, "model"), { additionalProperties: false }, (value, path, issues) => {
  for (const name in objectIn(value)) {
    if (name !== "model") report(issues, `${path}.${name}`, "is not a member of a fallback, which has only a model")
  }
})

const noEarlierMessage = checkThat(
  { type: "object", properties: { previous_message_id: { type: "null" } } },
  (value) => isJsonObject(value) && value["previous_message_id"] == null,
  stored,
)

const oneAnswer = exactly(1, "is not known in this API format, which gives one answer")

/**
 * Members of other forms, which this one has under another name or not at all. Sent on, they would contradict its own.
 */
const ofOtherForms: Readonly<Record<string, Check>> = {
  ...Object.fromEntries(
    [...insteadIn("messages"), ["max_output_tokens", "max_tokens"] as const].map(([name, own]) => [
      name,
      refused(`belongs to another API format: use ${own} here`),
    ]),
  ),
  n: oneAnswer,
  best_of: oneAnswer,
  audio: refused("belongs to the chat completions format: answers of this one have no audio"),
}

const members: Readonly<Record<string, Check>> = {
  ...sharedMembers,
  ...ofOtherForms,
  ...turnMembers,
  ...Object.fromEntries(parameters.flatMap(({ at, check }) => (check === undefined ? [] : [[at, check]]))),
  max_tokens: tokenCount,
  stop_sequences: listOf(text),
  tools,
  tool_choice: toolChoice,
  thinking: thinkingCheck,
  output_config: outputConfig,
  output_format: format,
  metadata: objectOf({ user_id: text }),
  service_tier: oneOf("auto", "standard_only", "default", "flex", "priority"),
  context_management: anyObject,
  compaction: anyObject,
  safeguards: described(
    "Checks of Anthropic's that cost nothing. Its own hosts and Foundry's are sent them.",
    anything,
  ),
  fallbacks: described("Models to try after this one. Not together with models.", listOf(fallback, mostFallbacks)),
  modalities: listOf(oneOf("text", "image")),
  diagnostics: noEarlierMessage,
}

const isGiven = { not: { type: "null" } }
const oneListOfModels = {
  not: { properties: { fallbacks: isGiven, models: isGiven }, required: ["fallbacks", "models"] },
}
const fallbacksRule = ruleOf(oneListOfModels, (body, issues) => {
  if (body["fallbacks"] != null && body["models"] != null)
    report(issues, "fallbacks", "excludes models: give one of them")
})

export const messagesTable = memberTable({
  title: "MessagesRequest",
  parameters: {},
  others: members,
  decodedApart: ["user", ...Object.keys(ofOtherForms)],
  required: ["messages"],
  after: [fallbacksRule],
})

/** Members that are translated, or are not sent under this name. Others are passed on, since the host may know them. */
export const isTranslated = (name: string): boolean => Object.hasOwn(members, name) && name !== "modalities"
