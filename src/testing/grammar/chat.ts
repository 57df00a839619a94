/** The grammar of a stream in the chat form: `choices.ts`, with deltas whose tool calls begin in order of their indexes. */
import { isJsonObject, type JsonObject } from "../../domain/json/json.ts"
import { readChoices } from "./choices.ts"
import { countIn, listIn, objectIn, readerOf, textIn, wrong } from "./events.ts"

/** Reads a whole stream, and throws at the first thing that breaks the grammar. Returns its chunks. */
export const readChatStream = readerOf("chat", (text) => {
  const deltas = new Deltas()
  return readChoices(text, "chat.completion.chunk", (choice) => deltas.check(choice))
})

class Deltas {
  /** Tool calls so far, of each choice. */
  private readonly calls = new Map<unknown, number>()

  check(choice: JsonObject): void {
    const { index, logprobs } = choice
    const delta = objectIn(choice, "delta")
    if (delta["role"] !== "assistant") wrong("a delta without the role", choice)
    for (const member of ["content", "reasoning", "refusal"]) if (delta[member] != null) textIn(delta, member)
    if (delta["content"] === undefined) wrong("a delta without content", choice)
    if (delta["reasoning_details"] !== undefined) listIn(delta, "reasoning_details")
    if (delta["tool_calls"] !== undefined) {
      for (const call of listIn(delta, "tool_calls")) {
        this.call(index, isJsonObject(call) ? call : wrong("a tool call that is no object", choice))
      }
    }
    if (logprobs !== null) objectIn(choice, "logprobs")
  }

  private call(choice: unknown, call: JsonObject): void {
    const known = this.calls.get(choice) ?? 0
    const index = countIn(call, "index")
    if (index > known) wrong(`a tool call that is not number ${known}`, call)
    if (index === known) {
      this.calls.set(choice, known + 1)
      textIn(call, "id")
      textIn(call, "type")
      textIn(objectIn(call, call["type"] === "custom" ? "custom" : "function"), "name")
    }
    const { function: called, custom } = call
    if (isJsonObject(called) && called["arguments"] !== undefined) textIn(called, "arguments")
    if (isJsonObject(custom)) textIn(custom, "input")
  }
}
