import * as Data from "effect/Data"
import * as Either from "effect/Either"

/** A plugin cannot be used. It is off, and the rest of the gateway starts. */
export class PluginInvalid extends Data.TaggedError("PluginInvalid")<{
  /** Path of the plugin, or its id. */
  readonly plugin: string
  readonly phase: "find" | "import" | "shape" | "duplicate" | "load"
  readonly reason: string
}> {
  override get message() {
    return `plugin ${this.plugin}: ${this.phase}: ${this.reason}`
  }
}

/** Runs `load`. Anything it throws becomes a `PluginInvalid`. */
export const guarded = <A>(plugin: string, load: () => A): Either.Either<A, PluginInvalid> =>
  Either.try({
    try: load,
    catch: (cause) => new PluginInvalid({ plugin, phase: "load", reason: reasonOf(cause) }),
  })

/** What was thrown, in one line for the operator. */
export const reasonOf = (cause: unknown): string =>
  (cause instanceof Error ? cause.message || cause.name : String(cause)).split("\n", 1)[0] ?? ""
