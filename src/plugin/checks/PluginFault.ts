import * as Data from "effect/Data"
import { HostFailed } from "../../domain/failures/Failure.ts"
import { numberOf } from "./running.ts"

/** A hook of a plugin broke the contract. It is logged as the cause of a `HostFailed`, and never shown to a caller. */
export class PluginFault extends Data.TaggedError("PluginFault")<{
  /** The plugin's id. */
  readonly plugin: string
  /** Path of the hook in the result of `load`, such as `protocols.chat`; "" for the provider itself. */
  readonly member: string
  /** Name of the hook, such as `encode`, `decoder.event`, `error`. */
  readonly hook: string
  /** What is wrong with it: `must return an array of chunks, not a number`. Nothing of a prompt or an answer. */
  readonly problem: string
  /** What it threw, when it did. */
  readonly cause?: unknown
}> {
  override get message() {
    return `${nameOf(this.plugin, this.member, this.hook)} ${this.problem}`
  }

  /** The line of code that threw: `at event (/plugins/acme/index.ts:12:5)`; `undefined` where none did. */
  get thrownAt(): string | undefined {
    const lines = this.cause instanceof Error ? (this.cause.stack?.split("\n") ?? []) : []
    return lines.find((line) => /^ +at /.test(line))?.trim()
  }
}

/** Makes the faults of one hook. */
export interface Hook {
  /** For `running.ts`. */
  readonly number: number
  /** It threw, or failed with an error that the contract does not allow. */
  readonly threw: (cause: unknown) => PluginFault
  /** It returned `value`; `misfit` says what was expected, and what came (`but`). */
  readonly returned: (misfit: string, value: unknown) => PluginFault
}

const nameOf = (...parts: ReadonlyArray<string>): string => parts.filter((part) => part !== "").join(".")

export const hookOf = (plugin: string, member: string, hook: string): Hook => ({
  number: numberOf(nameOf(plugin, member, hook)),
  threw: (cause) =>
    cause instanceof PluginFault
      ? cause
      : new PluginFault({ plugin, member, hook, problem: `threw "${oneLine(cause)}"`, cause }),
  returned: (misfit, value) => {
    // Such a promise is not awaited. Handled here, so that its rejection is not reported as unhandled.
    if (value instanceof Promise) value.catch(() => {})
    return new PluginFault({ plugin, member, hook, problem: `must return ${misfit}` })
  },
})

/** The failure of an attempt whose plugin is at fault. It does not count against the host. */
export const failedBy = (cause: PluginFault): HostFailed => new HostFailed({ reason: "plugin", cause })

/** What was thrown, with the name of its type, in one line of at most 200 characters. */
export const oneLine = (cause: unknown): string =>
  ((cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause)).split("\n", 1)[0] ?? "").slice(0, 200)
