/**
 * Warns about secrets that are probably wrong: values in quotation marks, and placeholders. The gateway starts
 * anyway.
 */
import * as Redacted from "effect/Redacted"
import type { Providers } from "../catalogue/Providers.ts"
import { renderPath } from "../domain/json/Problem.ts"
import type { GatewayConfig } from "./GatewayConfig.ts"

const variable = /^\$(?:\{[^}]*\}|\w+)$|^%\w+%$/
const words =
  /^(?:your|my|insert|enter|replace|add|put|paste)[-_ ].*(?:key|token|secret|password|here|me|with)|^(?:change[-_ ]?me|replace[-_ ]?me|placeholder|undefined|null|todo|tbd|api[-_ ]?key|secret[-_ ]?key)$/i
const omitted = /^<.*>$|(?:\.\.\.|…|\*{3,})$|^(?:[a-z]{2,4}[-_])*x{3,}$/i

/** What looks wrong about a secret, without quoting any of it; `undefined`: nothing. */
export const secretDoubt = (text: string): string | undefined => {
  if (/^(["'`]).*\1$/s.test(text) && text.length > 1)
    return "is in quotation marks, which are sent as part of it: remove them (`docker --env-file` keeps them)"
  if (variable.test(text)) return "is the name of a variable that was not replaced: set the variable's value"
  return words.test(text) || omitted.test(text) ? "looks like a placeholder: replace it" : undefined
}

type Found = readonly [name: string, secret: Redacted.Redacted | null | undefined]

const warningsFor = (found: ReadonlyArray<Found>): ReadonlyArray<string> =>
  found.flatMap(([name, secret]) => {
    const doubt = secret == null ? undefined : secretDoubt(Redacted.value(secret))
    return doubt === undefined ? [] : [`${name}: the secret ${doubt}.`]
  })

/** Warnings about the secrets of the gateway itself, its database and its webhooks. */
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

/** Warnings about the secrets of enabled providers. A plugin's own secret has no member name here. */
export const providerSecretWarnings = (providers: Providers): ReadonlyArray<string> =>
  [...providers].flatMap(([slug, loaded]) => {
    if (!loaded.callable) return []
    const { settings, provider, network } = loaded
    const keys: ReadonlyArray<Found> = [
      [renderPath(["providers", slug, "api_key"]), settings.apiKey],
      ...(settings.apiKeys ?? []).map(
        ({ key }, at): Found => [renderPath(["providers", slug, "api_keys", at, "key"]), key.secret],
      ),
    ]
    const texts = new Set(keys.map(([, secret]) => (secret == null ? "" : Redacted.value(secret))))
    const own = provider.secrets.all().filter((secret) => !texts.has(secret))
    return [
      ...warningsFor(keys),
      ...warningsFor(own.map((secret): Found => [renderPath(["providers", slug]), Redacted.make(secret)])),
      ...(network === "public" ? keys.flatMap(shortWarning) : []),
    ]
  })

/** Characters. Servers on this machine and in the own network take any word for a key. */
const shortestKey = 8

const shortWarning = ([name, secret]: Found): ReadonlyArray<string> =>
  secret == null || Redacted.value(secret).length >= shortestKey || secretDoubt(Redacted.value(secret)) !== undefined
    ? []
    : [`${name}: the secret has fewer than ${shortestKey} characters, so it is probably no key of a vendor.`]
