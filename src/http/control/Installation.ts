/** The installation's own id: the workspace, and the user where none was set. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { Storage } from "../../services/storage/Storage.ts"

export class Installation extends Context.Tag("headgate/Installation")<Installation, string>() {
  static readonly layer = Layer.effect(
    Installation,
    Effect.map(Storage, (storage) => storage.installation),
  )
}

/** `workspace_id` of a request: there is one workspace. */
export const OwnWorkspace = Schema.String.annotations({ description: "a workspace id" }).pipe(
  Schema.filterEffect((id) =>
    Effect.map(Installation, (own) => id === own || "expected the workspace of this installation, got another"),
  ),
)
