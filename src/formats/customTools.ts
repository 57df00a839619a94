/**
 * Custom tools, which take free text. A host that knows functions only is sent each as a function with one text,
 * `input`; calls of the function become calls of the custom tool again, whole and streamed. See
 * docs/decisions/0052-tools-of-the-caller.md.
 */
import { isJsonObject, type JsonObject, objectIn, objectsIn, textOr } from "../domain/json/json.ts"
import type {
  ChatChoice,
  ChatChunkChoice,
  ChatPayload,
  HostToolCall,
  Message,
  Tool,
  ToolCall,
  ToolCallDelta,
  ToolChoice,
} from "../domain/request/chat.ts"
import { innerJson } from "../wire/jsonDepth.ts"

/** The description has the grammar of the tool, but nothing enforces it. */
export const functionOfCustom = ({ description, format }: JsonObject) => ({
  description: [textOr(description, ""), "Takes free text, given as `input`."]
    .filter((text) => text !== "")
    .join("\n\n"),
  parameters: {
    type: "object",
    properties: { input: { type: "string", description: `The text, as it is meant.${grammarIn(objectIn(format))}` } },
    required: ["input"],
    additionalProperties: false,
  },
})

/** A grammar stands beside its type in the Responses form, and a level deeper in the chat form. */
const grammarIn = (format: JsonObject): string => {
  const { syntax, definition } = isJsonObject(format["grammar"]) ? format["grammar"] : format
  return format["type"] === "grammar" && typeof definition === "string"
    ? ` It must match this ${textOr(syntax, "")} grammar:\n${definition}`
    : ""
}

/** Whether a format asks for more than text. */
export const hasGrammar = ({ format }: JsonObject): boolean => isJsonObject(format) && format["type"] !== "text"

/** The arguments of a call, as hosts are sent them. */
export const jsonOfInput = (text: string): string => JSON.stringify({ input: text })

// --- requests of the chat form

export const isCustom = (tool: Tool): boolean => tool.type === "custom" && tool.function === undefined

export const hasCustomTools = ({ tools }: ChatPayload): boolean => tools?.some(isCustom) === true

const customIn = (value: JsonObject): JsonObject => (isJsonObject(value["custom"]) ? value["custom"] : value)

/** The names of the custom tools that become functions. A function of the same name keeps the name. */
export const customNames = ({ tools }: ChatPayload): ReadonlySet<string> => {
  const taken = new Set(tools?.map((tool) => tool.function?.name))
  const named = (tools ?? []).filter(isCustom).map((tool) => textOr(customIn(tool)["name"], ""))
  return new Set(named.filter((name) => name !== "" && !taken.has(name)))
}

/**
 * The payload with custom tools as functions, in the tools, the choice and earlier calls. A custom tool that cannot
 * become a function stays as it is. Returns the same payload if nothing changes. `dropped` gets the paths of grammars.
 */
export const withFunctions = (payload: ChatPayload, dropped: Array<string>): ChatPayload => {
  const { messages, tools, tool_choice: choice } = payload
  const isCalled = messages.some((message) => callsIn(message).some(isCustomCall))
  if (!isCalled && !hasCustomTools(payload)) return payload
  const names = customNames(payload)
  // Of several custom tools with one name only the first becomes a function.
  const free = new Set(names)
  const functions = tools?.map((tool, at) => functionFor(tool, `tools[${at}]`, free, dropped))
  return {
    ...payload,
    ...(isCalled ? { messages: messages.map(withFunctionCalls) } : {}),
    ...(functions === undefined ? {} : { tools: functions }),
    ...(isJsonObject(choice) ? { tool_choice: choiceFor(choice, names) } : {}),
  }
}

/** `free`: the names that no function has yet. */
const functionFor = (tool: Tool, path: string, free: Set<string>, dropped: Array<string>): Tool => {
  const custom = customIn(tool)
  const { name, input_schema: schema } = custom
  // A tool with a schema is one of Anthropic's form.
  if (!isCustom(tool) || schema != null || typeof name !== "string" || !free.delete(name)) return tool
  if (hasGrammar(custom)) dropped.push(`${path}${custom === tool ? "" : ".custom"}.format`)
  return { type: "function", function: { name, ...functionOfCustom(custom) } }
}

const choiceFor = (choice: Exclude<ToolChoice, string>, names: ReadonlySet<string>): ToolChoice => {
  const { type, allowed_tools: allowed } = choice
  if (type !== "allowed_tools") return chosen(choice, names)
  const within = (list: JsonObject) => ({ ...list, tools: objectsIn(list["tools"]).map((tool) => chosen(tool, names)) })
  return { ...(isJsonObject(allowed) ? { ...choice, allowed_tools: within(allowed) } : within(choice)), type }
}

const chosen = <Named extends JsonObject>(named: Named, names: ReadonlySet<string>) => {
  const { name } = customIn(named)
  const isFunction = named["type"] === "custom" && typeof name === "string" && names.has(name)
  return isFunction ? { type: "function", function: { name } } : named
}

const callsIn = (message: Message): ReadonlyArray<ToolCall | HostToolCall> =>
  message.role === "assistant" ? (message.tool_calls ?? []) : []

const isCustomCall = ({ type, custom }: JsonObject): boolean =>
  type === "custom" && typeof objectIn(custom)["name"] === "string"

const withFunctionCalls = (message: Message): Message =>
  message.role === "assistant" && callsIn(message).some(isCustomCall)
    ? { ...message, tool_calls: callsIn(message).map((call) => (isCustomCall(call) ? functionCallOf(call) : call)) }
    : message

const functionCallOf = ({ id, custom }: JsonObject): ToolCall => {
  const { name, input } = objectIn(custom)
  return {
    id: textOr(id, ""),
    type: "function",
    function: { name: textOr(name, ""), arguments: jsonOfInput(textOr(input, "")) },
  }
}

// --- answers of the chat form

/** A choice of a whole answer, with the calls of these tools as the form has them. */
export const withCustomCalls = ({ message, ...rest }: ChatChoice, names: ReadonlySet<string>): JsonObject => {
  const { tool_calls: calls } = message
  if (calls === undefined) return { ...rest, message }
  return { ...rest, message: { ...message, tool_calls: calls.map((call) => customCall(call, names)) } }
}

const customCall = ({ function: called, ...rest }: ToolCall, names: ReadonlySet<string>): JsonObject => {
  // As a host of the chat form writes it.
  if (isJsonObject(rest["custom"])) return rest
  const { name, arguments: given } = called
  const input = inputOf(rest.type, name, names)
  if (input === undefined) return { ...rest, function: called }
  return { ...rest, type: "custom", custom: { name, input: input.add(given) + input.end() } }
}

/**
 * What reads the arguments of a call; `undefined`: it calls a function. Hosts of the Responses form give the text
 * itself.
 */
const inputOf = (type: unknown, name: string, names: ReadonlySet<string>): InputReader | undefined => {
  if (type === "custom") return asItIs
  return names.has(name) ? new CustomToolInput() : undefined
}

type InputReader = Pick<CustomToolInput, "add" | "end">

const asItIs: InputReader = { add: (text) => text, end: () => "" }

/** The same for the chunks of one answer. */
export class CustomCalls {
  private readonly names: ReadonlySet<string>
  /** By choice and index, what reads the input; `undefined`: its pieces pass, since it is a function's. */
  private readonly calls = new Map<string, InputReader | undefined>()
  /** What came of calls whose name has not come. */
  private readonly unnamed = new Map<string, ToolCallDelta>()

  constructor(names: ReadonlySet<string>) {
    this.names = names
  }

  choice(choice: ChatChunkChoice): ChatChunkChoice {
    const { index, delta, finish_reason: finish } = choice
    const { tool_calls: pieces = [], ...said } = delta
    if (pieces.length === 0 && finish === null) return choice
    const written = pieces.flatMap((piece) => this.piece(`${index} ${piece.index}`, piece))
    if (finish !== null) written.push(...this.ends(index))
    return { ...choice, delta: written.length === 0 ? said : { ...said, tool_calls: written } }
  }

  private piece(place: string, piece: ToolCallDelta): ReadonlyArray<ToolCallDelta> {
    const { function: called, ...rest } = piece
    if (isJsonObject(rest["custom"])) {
      this.calls.set(place, ignored)
      return [rest]
    }
    if (!this.calls.has(place)) return this.begin(place, piece)
    const input = this.calls.get(place)
    return input === undefined ? [piece] : more(piece.index, input.add(called?.arguments ?? ""))
  }

  private begin(place: string, piece: ToolCallDelta): ReadonlyArray<ToolCallDelta> {
    const before = this.unnamed.get(place)
    const given = (before?.function?.arguments ?? "") + (piece.function?.arguments ?? "")
    const { name } = piece.function ?? {}
    const whole = { ...before, ...piece, function: { ...piece.function, arguments: given } }
    if (!name) {
      this.unnamed.set(place, whole)
      return []
    }
    this.unnamed.delete(place)
    const input = inputOf(whole.type, name, this.names)
    this.calls.set(place, input)
    if (input === undefined) return [whole]
    const { function: _, ...rest } = whole
    return [{ ...rest, type: "custom", custom: { name, input: input.add(given) } }]
  }

  /** What is left of the calls of a choice that ends. */
  private ends(choice: number): ReadonlyArray<ToolCallDelta> {
    const isOfChoice = (place: string): boolean => place.startsWith(`${choice} `)
    const unnamed = [...this.unnamed].filter(([place]) => isOfChoice(place))
    for (const [place] of unnamed) this.unnamed.delete(place)
    const rest = [...this.calls].flatMap(([place, input]) =>
      isOfChoice(place) && input !== undefined ? more(Number(place.split(" ")[1]), input.end()) : [],
    )
    return [...unnamed.map(([, piece]) => piece), ...rest]
  }
}

const more = (index: number, input: string): ReadonlyArray<ToolCallDelta> =>
  input === "" ? [] : [{ index, custom: { input } }]

/** Of a call that a host of the chat form writes itself. */
const ignored: InputReader = { add: () => "", end: () => "" }

// --- the text of a call

const head = /^[ \t\r\n]*\{[ \t\r\n]*"input"[ \t\r\n]*:[ \t\r\n]*"/
const partOfHead = /^[ \t\r\n]*(?:\{[ \t\r\n]*(?:"(?:i(?:n(?:p(?:u(?:t(?:"[ \t\r\n]*(?::[ \t\r\n]*)?)?)?)?)?)?)?)?)?$/

/** UTF-16 units of a beginning that is looked at again with each fragment. Longer ones are read at the end. */
const longestHead = 256

const special = /["\\]/g

const escapes: ReadonlyMap<string, string> = new Map([
  ['"', '"'],
  ["\\", "\\"],
  ["/", "/"],
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
])

/**
 * The text of a call, taken out of its JSON, `{"input":"…"}`, as it comes, whichever way the JSON is cut into fragments
 * and escaped. What is not this JSON is the text itself.
 */
export class CustomToolInput {
  /**
   * `head`: before the text. `text`: within its quotes. `over`: after them. `raw`: it is no object, so all of it is the
   * text. `unread`: it is an object that begins otherwise, and is read at the end.
   */
  private state: "head" | "text" | "over" | "raw" | "unread" = "head"
  /** What came and was not read: a beginning, an escape that is not whole, or all of what has another shape. */
  private held = ""
  /** The first half of a pair of surrogates, whose other half may come. */
  private half = ""

  /** What a fragment of the arguments adds to the text, as far as it is certain. */
  add(fragment: string): string {
    switch (this.state) {
      case "text":
        return this.read(fragment)
      case "raw":
        return this.whole(fragment)
      case "over":
        return ""
      default:
        this.held += fragment
        return this.state === "head" ? this.begin() : ""
    }
  }

  /** The rest of the text: no more fragments come. */
  end(): string {
    const { state, held } = this
    this.state = "over"
    this.held = ""
    if (state === "unread") {
      // It may begin as it should, after more blanks than are looked at with each fragment.
      const found = head.exec(held)
      return found === null ? inputIn(held) : this.read(held.slice(found[0].length)) + this.rest()
    }
    // The beginning of the JSON says nothing yet.
    return state === "head" && !held.includes("{") ? held : this.rest()
  }

  /** Half a pair whose other half did not come. */
  private rest(): string {
    const { half } = this
    this.held = ""
    this.half = ""
    return half
  }

  private begin(): string {
    const { held } = this
    const found = head.exec(held)
    if (found !== null) {
      this.state = "text"
      this.held = ""
      return this.read(held.slice(found[0].length))
    }
    if (held.length <= longestHead && partOfHead.test(held)) return ""
    if (/^[ \t\r\n]*(?:\{|$)/.test(held)) {
      this.state = "unread"
      return ""
    }
    this.state = "raw"
    this.held = ""
    return this.whole(held)
  }

  /** What comes within the quotes. */
  private read(fragment: string): string {
    const source = this.held + fragment
    this.held = ""
    let text = ""
    let at = 0
    while (at < source.length) {
      special.lastIndex = at
      const stop = special.exec(source)?.index ?? source.length
      text += source.slice(at, stop)
      if (stop === source.length) break
      if (source[stop] === '"') {
        this.state = "over"
        const { half } = this
        this.half = ""
        return half + text
      }
      const escaped = escapeAt(source, stop)
      if (escaped === undefined) {
        this.held = source.slice(stop)
        break
      }
      text += escaped.text
      at = stop + escaped.length
    }
    return this.whole(text)
  }

  /** The text without half a pair at its end: no delta ends within a character. */
  private whole(text: string): string {
    const all = this.half + text
    const isCut = /[\uD800-\uDBFF]$/.test(all)
    this.half = isCut ? all.slice(-1) : ""
    return isCut ? all.slice(0, -1) : all
  }
}

interface Escape {
  readonly text: string
  /** Of the escape, in UTF-16 units. */
  readonly length: number
}

/** `undefined`: more of it has to come. A backslash that begins no escape is one: models forget to write two. */
const escapeAt = (source: string, at: number): Escape | undefined => {
  const letter = source[at + 1]
  if (letter === undefined) return undefined
  if (letter !== "u") return { text: escapes.get(letter) ?? `\\${letter}`, length: 2 }
  const digits = source.slice(at + 2, at + 6)
  if (!/^[0-9a-fA-F]*$/.test(digits)) return { text: "\\u", length: 2 }
  if (digits.length < 4) return undefined
  return { text: String.fromCharCode(Number.parseInt(digits, 16)), length: 6 }
}

/** The text of arguments that are whole and do not begin as they should. An empty object says nothing. */
const inputIn = (given: string): string => {
  const parsed = innerJson(given)
  if (!isJsonObject(parsed)) return given
  const { input } = parsed
  if (typeof input === "string") return input
  return Object.keys(parsed).length === 0 ? "" : given
}
