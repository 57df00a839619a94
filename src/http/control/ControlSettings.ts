/** Settings of the control plane. */
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"

export interface ControlOptions {
  /** Origins whose pages may read the model listings; `*`: all. */
  readonly corsOrigins: ReadonlyArray<string>
  /** Whether anybody may read `/metrics`. Default: false. */
  readonly openMetrics?: boolean
  /** Whether the console is served. Default: true. */
  readonly console?: boolean
  /** The address that browsers use, without a path at its end; `null`, the default: not known. */
  readonly publicUrl?: string | null
}

export class ControlSettings extends Context.Tag("headgate/ControlSettings")<ControlSettings, ControlOptions>() {
  static readonly layer = (options: ControlOptions) => Layer.succeed(ControlSettings, options)
}
