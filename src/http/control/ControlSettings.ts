/** What an operator may set of the control plane. */
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"

export interface ControlOptions {
  /** Whose pages may read the model listings; `*`: everybody's. G31. */
  readonly corsOrigins: ReadonlyArray<string>
  /** Largest body, bytes. G30. */
  readonly bodyBytes: number
  /** Requests per key and UTC day to free models. */
  readonly freeModelsPerDay: number
}

export class ControlSettings extends Context.Tag("headgate/ControlSettings")<ControlSettings, ControlOptions>() {
  static readonly layer = (options: ControlOptions) => Layer.succeed(ControlSettings, options)
}
