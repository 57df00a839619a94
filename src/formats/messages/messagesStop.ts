/** How an answer ends in the Messages format: the reason, and the explanation of a refusal. */
import { type JsonObject, objectIn, textOr } from "../../domain/json/json.ts"
import type { ChatChunkChoice, FinishReason } from "../../domain/request/chat.ts"

/** The words of the form and their meaning. The first word of a meaning is written; the first meaning of a word is read. */
const meanings: ReadonlyArray<readonly [word: string, finish: FinishReason]> = [
  ["end_turn", "stop"],
  ["stop_sequence", "stop"],
  ["pause_turn", "stop"],
  ["max_tokens", "length"],
  ["model_context_window_exceeded", "length"],
  ["tool_use", "tool_calls"],
  ["refusal", "content_filter"],
  // The form has no word for an answer that the model got wrong, and agents take any other for a finished turn.
  ["refusal", "error"],
]

const finishes: ReadonlyMap<unknown, FinishReason> = new Map<unknown, FinishReason>(meanings.toReversed())

const wordFor = (finish: FinishReason): string => meanings.find(([, meant]) => meant === finish)?.[0] ?? "end_turn"

/** Unknown reasons count as a stop, and a stop beside calls is one for the calls. */
export const finishReasonOf = (word: string, hasCalls: boolean): FinishReason =>
  besideCalls(finishes.get(word) ?? "stop", hasCalls)

const besideCalls = (finish: FinishReason, hasCalls: boolean): FinishReason =>
  finish === "stop" && hasCalls ? "tool_calls" : finish

/** The same for the word of a host of the form, which its clients get. */
export const wordBesideCalls = (word: unknown, hasCalls: boolean): unknown =>
  hasCalls && (word == null || word === "end_turn") ? "tool_use" : word

/** The host's explanation of a refusal, if it has one. */
export const refusalOf = (stopDetails: unknown): string | undefined => {
  const { type, explanation } = objectIn(stopDetails)
  return type === "refusal" ? textOr(explanation, undefined) : undefined
}

/**
 * The members that say how an answer ended. Hosts of other forms may know words of this one, which say more. `refusal`:
 * the host's explanation, "" for none.
 */
export const ending = (
  choice: Pick<ChatChunkChoice, "finish_reason" | "native_finish_reason"> | undefined,
  hasCalls: boolean,
  refusal: string,
): JsonObject => {
  const { finish_reason: given, native_finish_reason: native } = choice ?? { finish_reason: null }
  const finish = besideCalls(given ?? "stop", hasCalls)
  const usual = wordFor(finish)
  const isMore = native !== usual && finishes.get(native) === finish
  const word = isMore ? native : refusal === "" ? usual : "refusal"
  const failed = finish === "error" ? `The model's answer could not be read: ${native ?? "error"}.` : null
  const details = { type: "refusal", category: null, explanation: refusal === "" ? failed : refusal }
  return {
    stop_reason: word,
    stop_sequence: null,
    stop_details: word === "refusal" ? details : null,
    container: null,
  }
}
