/**
 * Whether the tool calls of an answer are sound: their arguments are JSON, and they name a tool of the request. Empty
 * arguments are sound, as hosts send them for tools without parameters. Calls of custom tools have text in place of JSON, and are not checked.
 */
import { objectIn, textOr } from "../json/json.ts"
import type { ChatChoice, Tool, ToolCallDelta } from "./chat.ts"

interface Call {
  name: string
  arguments: string
}

/** Of a whole answer; `undefined`: it ended for want of tokens, which may have cut a call short. */
export const areToolCallsSound = (
  tools: ReadonlyArray<Tool>,
  choices: ReadonlyArray<ChatChoice>,
): boolean | undefined => {
  if (choices.some((choice) => choice.finish_reason === "length")) return undefined
  const names = namesOf(tools)
  return choices.every(({ message }) =>
    (message.tool_calls ?? []).every((call) => isCustom(call) || isSound(names, call.function)),
  )
}

/** The tool calls of a streamed answer, put together from their fragments. */
export class ToolCallFragments {
  private readonly calls = new Map<string, Call>()
  private readonly custom = new Set<string>()

  add(choice: number, fragments: ReadonlyArray<ToolCallDelta>): void {
    for (const delta of fragments) {
      const { index, function: fragment } = delta
      // The type comes with the first fragment.
      if (isCustom(delta)) this.custom.add(`${choice} ${index}`)
      if (fragment === undefined) continue
      const place = `${choice} ${index}`
      const call = this.calls.get(place) ?? { name: "", arguments: "" }
      this.calls.set(place, call)
      call.name += fragment.name ?? ""
      call.arguments += fragment.arguments ?? ""
    }
  }

  areSound(tools: ReadonlyArray<Tool>): boolean {
    const names = namesOf(tools)
    for (const [place, call] of this.calls) if (!this.custom.has(place) && !isSound(names, call)) return false
    return true
  }
}

const isCustom = ({ type }: { readonly type?: unknown }): boolean => type === "custom"

type Names = ReadonlySet<string | undefined>

/** Looked up, since a host may make thousands of calls, and a request may have thousands of tools. */
const namesOf = (tools: ReadonlyArray<Tool>): Names =>
  new Set(tools.map((tool) => textOr((tool.function ?? objectIn(tool["custom"]))["name"], undefined)))

const isSound = (names: Names, call: Call | undefined): boolean =>
  call === undefined || (names.has(call.name) && isJson(call.arguments))

const isJson = (text: string): boolean => {
  if (text === "") return true
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
