/** Secrets that are probably not what they should be: in quotation marks, or a placeholder. A start goes on, and says so. */
import * as Redacted from "effect/Redacted"
import type { Providers } from "../catalogue/Providers.ts"
import { renderPath } from "../domain/json/Problem.ts"
import type { GatewayConfig } from "./GatewayConfig.ts"

const variable = /^\$(?:\{[^}]*\}|\w+)$|^%\w+%$/
const words =
  /^(?:your|my|insert|enter|replace|add|put|paste)[-_ ].*(?:key|token|secret|password|here|me|with)|^(?:change[-_ ]?me|replace[-_ ]?me|placeholder|undefined|null|todo|tbd|api[-_ ]?key|secret[-_ ]?key)$/i
const omitted = /^<.*>$|(?:\.\.\.|…|\*{3,})$|^(?:[a-z]{2,4}[-_])*x{3,}$/i

/** What is doubtful about a secret, without a part of it; `undefined`: nothing. */
export const secretDoubt = (text: string): string | undefined => {
  if (/^(["'`]).*\1$/s.test(text) && text.length > 1)
    return "stands in quotation marks, which are sent with it: `docker --env-file` keeps them, so leave them out"
  if (variable.test(text)) return "is the name of a variable, which nothing has replaced"
  return words.test(text) || omitted.test(text) ? "looks like a placeholder" : undefined
}

type Found = readonly [name: string, secret: Redacted.Redacted | null | undefined]

const warningsFor = (found: ReadonlyArray<Found>): ReadonlyArray<string> =>
  found.flatMap(([name, secret]) => {
    const doubt = secret == null ? undefined : secretDoubt(Redacted.value(secret))
    return doubt === undefined ? [] : [`${name}: the secret ${doubt}.`]
  })

/** Of the gateway itself, its database and its webhooks. */
export const gatewaySecretWarnings = (
  { storage, alerts }: Pick<GatewayConfig, "storage" | "alerts">,
  variables: Readonly<Record<string, Redacted.Redacted | null>>,
): ReadonlyArray<string> =>
  warningsFor([
    ...Object.entries(variables),
    ...(storage._tag === "Postgres" ? passwordsOf(Redacted.value(storage.url)) : []),
    ...alerts.webhooks.map(({ secret }, at): Found => [renderPath(["alerts", "webhooks", at, "secret"]), secret]),
  ])

const passwordsOf = (url: string): ReadonlyArray<Found> => {
  const { PGPASSWORD: fromVariable } = process.env
  const { password = "" } = URL.parse(url) ?? {}
  return [
    ["storage", Redacted.make(password.replaceAll("%22", '"').replaceAll("%27", "'"))],
    ["PGPASSWORD", fromVariable === undefined || password !== "" ? null : Redacted.make(fromVariable)],
  ]
}

/** Of the providers that are on. */
export const providerSecretWarnings = (providers: Providers): ReadonlyArray<string> =>
  warningsFor(
    [...providers].flatMap(([slug, loaded]): ReadonlyArray<Found> => {
      if (!loaded.callable) return []
      const { apiKey, apiKeys } = loaded.settings
      return [
        [renderPath(["providers", slug, "api_key"]), apiKey],
        ...(apiKeys ?? []).map(
          ({ key }, at): Found => [renderPath(["providers", slug, "api_keys", at, "key"]), key.secret],
        ),
      ]
    }),
  )
