import * as Data from "effect/Data"

/** A plugin could not be used. It is off; the rest of the house starts. G33. */
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
