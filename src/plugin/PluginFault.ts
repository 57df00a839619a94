import * as Data from "effect/Data"

/** A hook of a plugin broke the contract. It is logged as the cause of a `HostFailed`, and never shown to a caller. */
export class PluginFault extends Data.TaggedError("PluginFault")<{
  /** The plugin's id. */
  readonly plugin: string
  /** Path of the hook in the result of `load`, such as `protocols.chat`; "" for the provider itself. */
  readonly member: string
  /** Name of the hook, such as `encode`, `decoder.event`, `error`. */
  readonly hook: string
  /** What is wrong with it: `must return an array of chunks`. */
  readonly problem: string
  /** What it threw, when it did. */
  readonly cause?: unknown
}> {
  override get message() {
    return `${[this.plugin, this.member, this.hook].filter((part) => part !== "").join(".")} ${this.problem}`
  }
}

/** Makes the faults of one hook. */
export interface Hook {
  /** It threw, or failed with an error that the contract does not allow. */
  readonly threw: (cause: unknown) => PluginFault
  /** It returned `value` in place of `expected`. */
  readonly returned: (expected: string, value: unknown) => PluginFault
}

export const hookOf = (plugin: string, member: string, hook: string): Hook => ({
  threw: (cause) =>
    cause instanceof PluginFault
      ? cause
      : new PluginFault({ plugin, member, hook, problem: `threw "${oneLine(cause)}"`, cause }),
  returned: (expected, value) => {
    const not = isPromise(value) ? ", not a promise" : ""
    return new PluginFault({ plugin, member, hook, problem: `must return ${expected}${not}` })
  },
})

/** What was thrown, in one line. */
const oneLine = (cause: unknown): string =>
  (cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause)).split("\n", 1)[0] ?? ""

/** Also handles a rejection of such a promise. Otherwise it would count as an unhandled rejection of the process. */
const isPromise = (value: unknown): boolean => {
  if (!(value instanceof Promise)) return false
  value.catch(() => {})
  return true
}
