/** A whole answer in the formats whose answers are a list of choices: chat completions and legacy completions. */
import type { JsonObject } from "../domain/json/json.ts"
import type { ChatChoice } from "../domain/request/chat.ts"
import type { AnswerNames, AnswerWriter } from "./AnswerWriter.ts"
import { tierOf, usageBody } from "./routerUsage.ts"

/** What differs between the forms whose answers are a list of choices. */
export interface AnswerShape {
  readonly object: string
  readonly choice: (choice: ChatChoice) => JsonObject
}

export const answerWriter =
  (
    { generationId, created, metadata }: AnswerNames,
    excludeReasoning: boolean,
    { object, choice }: AnswerShape,
  ): AnswerWriter =>
  (host, response) => {
    const { choices, usage: _, unseen: __, system_fingerprint: fingerprint, service_tier: tier, ...rest } = response
    const text = JSON.stringify({
      ...rest,
      id: generationId,
      provider: host.providerName,
      model: host.model,
      object,
      created,
      system_fingerprint: typeof fingerprint === "string" ? fingerprint : null,
      service_tier: tierOf(tier, host),
      openrouter_metadata: metadata?.(host),
      choices: (excludeReasoning ? choices.map(withoutReasoning) : choices).map(choice),
    })
    return (charge) => `${text.slice(0, -1)},"usage":${JSON.stringify(usageBody(charge))}}`
  }

const withoutReasoning = (choice: ChatChoice) => {
  const { reasoning_details: _, ...message } = choice.message
  return { ...choice, message: { ...message, reasoning: null } }
}
