/** Reads the configuration again while the gateway runs. An app that embeds the gateway may have no such file, since it passes the configuration itself. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { ConfigInvalid } from "../../domain/json/Problem.ts"
import type { Actor } from "../../domain/keys/audit.ts"
import type { StorageUnavailable } from "../storage/StorageUnavailable.ts"

/** What a reload did. Paths such as `limits.retries`, without values. */
export interface Reloaded {
  /** The configuration file; `null`: there is none. */
  readonly file: string | null
  /** Members that are different from now on. */
  readonly changed: ReadonlyArray<string>
  /** Members that are different from those of the start, and take effect at the next one. */
  readonly needsRestart: ReadonlyArray<string>
  /** A sentence each. */
  readonly warnings: ReadonlyArray<string>
}

export class ConfigReload extends Context.Tag("headgate/ConfigReload")<
  ConfigReload,
  {
    /**
     * Puts the file in force as it is now, for the requests that begin from now on; those that run go on with what they began with.
     * Fails with every problem, or when the audit log cannot be written, and then nothing has changed. `actor`: for the audit log;
     * `null`: another process of this gateway has written there.
     */
    readonly reload: (actor: Actor | null) => Effect.Effect<Reloaded, ConfigInvalid | StorageUnavailable>
  }
>() {}
