/** What an operator may set of the control plane. */
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"

export interface ControlOptions {
  /** Whose pages may read the model listings; `*`: everybody's. Default `["*"]`. G31. */
  readonly corsOrigins?: ReadonlyArray<string>
  /** Largest body, bytes. Default 32 MiB. G30. */
  readonly bodyBytes?: number
  /** Requests per key and UTC day to free models. Default 1000. */
  readonly freeModelsPerDay?: number
}

export class ControlSettings extends Context.Tag("headgate/ControlSettings")<
  ControlSettings,
  Required<ControlOptions>
>() {
  static readonly layer = ({
    corsOrigins = ["*"],
    bodyBytes = 33_554_432,
    freeModelsPerDay = 1000,
  }: ControlOptions = {}) => Layer.succeed(ControlSettings, { corsOrigins, bodyBytes, freeModelsPerDay })
}
