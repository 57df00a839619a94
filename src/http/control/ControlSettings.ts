/** Settings of the control plane. */
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"

export interface ControlOptions {
  /** Origins whose pages may read the model listings; `*`: all. */
  readonly corsOrigins: ReadonlyArray<string>
  /** Whether `/metrics` is told to anybody. Default: false. */
  readonly openMetrics?: boolean
}

export class ControlSettings extends Context.Tag("headgate/ControlSettings")<ControlSettings, ControlOptions>() {
  static readonly layer = (options: ControlOptions) => Layer.succeed(ControlSettings, options)
}
