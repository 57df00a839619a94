/** Providers as `GET /providers/state` writes them. */
import * as Schema from "effect/Schema"
import { isoTime } from "../../../domain/keys/keyValues.ts"
import { formatUsd, toUsd } from "../../../domain/price/money.ts"
import { endText } from "../../../domain/routing/routed.ts"
import type { ProviderState } from "../../../services/state/providerStates.ts"

const KeyState = Schema.Struct({
  /** As in the log, such as `key 2 (OPENAI_KEY_B)`. */
  label: Schema.String,
  state: Schema.Literal("ready", "resting"),
  /** Why it is passed over; `null`: it may be used. */
  why: Schema.NullOr(Schema.String),
  /** `null`: it may be used, or no time is known. */
  rests_until: Schema.NullOr(Schema.String),
  /** What its vendor has charged for it in all; `null`: the database did not answer. */
  spent_usd: Schema.NullOr(Schema.Number),
  exact: Schema.Struct({ spent_usd: Schema.NullOr(Schema.String) }),
}).annotations({ identifier: "ProviderKeyState" })

const ProviderStateAnswer = Schema.Struct({
  slug: Schema.String,
  name: Schema.String,
  /** Id of its plugin. */
  plugin: Schema.String,
  /** Why it is here: the configuration names it, the environment has what it needs, it is looked for on this machine, or its plugin alone is installed. */
  source: Schema.Literal("configuration", "environment", "local", "plugin"),
  state: Schema.Literal("on", "off"),
  /** Why it is off. */
  why: Schema.NullOr(Schema.String),
  /** The variable of the environment that has its key, or, while it is off, that is to be set; of several the first one. */
  variable: Schema.NullOr(Schema.String),
  /** Without port and path; `null`: it is off. */
  base_url_host: Schema.NullOr(Schema.String),
  /** How many of each can be called. */
  hosts: Schema.Int,
  models: Schema.Int,
  network: Schema.NullOr(Schema.Literal("public", "private")),
  /** The keys of one that has several (`api_keys`). */
  keys: Schema.Array(KeyState),
  /** When it last refused our account; `null`: it has not, or has answered since. Of this process. */
  account_refused_at: Schema.NullOr(Schema.String),
  /** Of this process. */
  last_error: Schema.NullOr(
    Schema.Struct({ at: Schema.String, model: Schema.String, host: Schema.String, why: Schema.String }),
  ),
}).annotations({ identifier: "ProviderState" })

export const ProvidersState = Schema.Struct({ data: Schema.Array(ProviderStateAnswer) })

export const writtenProvider = (state: ProviderState): typeof ProviderStateAnswer.Type => {
  const { slug, name, plugin, source, why, variables, on, hosts, models, lastError } = state
  return {
    slug,
    name,
    plugin,
    source,
    state: on === null ? "off" : "on",
    why,
    variable: variables[0] ?? null,
    base_url_host: on?.baseUrlHost ?? null,
    hosts,
    models,
    network: on?.network ?? null,
    keys: state.keys.map(writtenKey),
    account_refused_at: timeOrNull(state.accountRefusedAt),
    last_error:
      lastError === null
        ? null
        : {
            at: isoTime(lastError.at),
            model: lastError.model,
            host: lastError.host,
            why: endText({ outcome: lastError.reason, fault: lastError.fault }),
          },
  }
}

const writtenKey = ({ label, why, restsUntil, spent }: ProviderState["keys"][number]): typeof KeyState.Type => ({
  label,
  state: why === null ? "ready" : "resting",
  why,
  rests_until: timeOrNull(restsUntil),
  spent_usd: spent === null ? null : toUsd(spent),
  exact: { spent_usd: spent === null ? null : formatUsd(spent) },
})

const timeOrNull = (at: number | null): string | null => (at === null ? null : isoTime(at))
