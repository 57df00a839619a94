/** What is known of the configuration in force beside what requests read: its file, when it was read, its warnings, its providers. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { ProviderNote } from "../../catalogue/ProviderNote.ts"

export interface ReadConfiguration {
  /** `null`: there is none, as where an app passes the configuration itself. */
  readonly file: string | null
  /** A sentence each, without secrets. */
  readonly warnings: ReadonlyArray<string>
  readonly providers: ReadonlyArray<ProviderNote>
}

export interface ConfigInUse extends ReadConfiguration {
  /** Unix milliseconds. */
  readonly loadedAt: number
}

export class ConfigFacts extends Context.Tag("headgate/ConfigFacts")<
  ConfigFacts,
  {
    readonly current: () => ConfigInUse
    /** Another one is in force from now on. */
    readonly replace: (next: ReadConfiguration) => void
  }
>() {
  static readonly layer = (first: ReadConfiguration): Layer.Layer<ConfigFacts> =>
    Layer.effect(
      ConfigFacts,
      Effect.map(Effect.clock, (clock) => {
        const inUse = (read: ReadConfiguration): ConfigInUse => ({ ...read, loadedAt: clock.unsafeCurrentTimeMillis() })
        let current = inUse(first)
        return {
          current: () => current,
          replace: (next) => {
            current = inUse(next)
          },
        }
      }),
    )
}
