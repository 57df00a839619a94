/** What a line of the gateway's log is declared as. Pure data. */

/** How grave a line is, from the least. */
export const logLevels = ["debug", "info", "warn", "error", "fatal"] as const

export type LogLevelName = (typeof logLevels)[number]

export interface LogEvent {
  /** `any`: whoever logs it says it. */
  readonly level: LogLevelName | "any"
  /** The message. `{name}` stands for the fact of that name; `{text}` alone is what the caller says. */
  readonly text: string
  /** What has happened. */
  readonly means: string
  /** What the operator does about it. */
  readonly remedy: string
}

/** Where nothing has to be done. */
export const nothing = "Nothing."

/** The facts that a text names. */
export type NamedIn<Text extends string> = Text extends `${string}{${infer Name}}${infer Rest}`
  ? Name | NamedIn<Rest>
  : never

/** The text with facts in place of their names. */
export const filled = (text: string, facts: Readonly<Record<string, unknown>>): string =>
  text.includes("{") ? text.replace(/\{(\w+)\}/g, (_, name: string) => String(facts[name])) : text

/** The name of a field: `requestId` is written as `request_id`. */
export const fieldName = (name: string): string =>
  /[A-Z]/.test(name) ? name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) : name
