/** Failures of hosts as they may be shown and logged: without credentials. docs/guarantees.md#g27 */
import type { ProviderEndpoint } from "../../catalogue/endpoints.ts"
import type { HostFailed } from "../../domain/failures/Failure.ts"
import { hiding } from "../../domain/json/redaction.ts"
import { PluginFault } from "../../plugin/checks/PluginFault.ts"
import { secretsIn } from "./signedSecrets.ts"

/**
 * Removes our secrets from a failure, since a host may quote what it was sent, and an error of a plugin the address that it
 * called. `added`: what `sign` added to the request.
 */
export const withoutSecrets = (
  failure: HostFailed,
  endpoint: ProviderEndpoint,
  added: ReadonlyArray<string> = [],
): HostFailed => {
  const { detail, code, cause } = failure
  if (detail === undefined && code === undefined && cause === undefined) return failure
  const secrets = [...secretsOf(endpoint), ...secretsIn(added)]
  if (secrets.length === 0) return failure
  const hide = hiding(secrets)
  return failure.with({
    detail: detail === undefined ? undefined : hide(detail),
    code: code === undefined ? undefined : hide(code),
    cause: shownCause(cause, hide),
  })
}

/** What must not be shown of a provider, as far as it is known before a request is signed. */
export const secretsOf = ({ secrets, provider }: ProviderEndpoint): ReadonlyArray<string> => [
  ...secrets,
  ...provider.secrets.all(),
]

/** A cause as it may be logged. A `PluginFault` stays, since its own fields are logged. */
const shownCause = (cause: unknown, hide: (text: string) => string): unknown => {
  if (cause instanceof PluginFault) return redacted(cause, hide)
  if (!(cause instanceof Error)) return typeof cause === "string" ? hide(cause) : cause
  const shown = new Error(hide(cause.message))
  shown.name = cause.name
  shown.stack = hide(cause.stack ?? "")
  return shown
}

const redacted = ({ plugin, member, hook, problem, cause }: PluginFault, hide: (text: string) => string): PluginFault =>
  new PluginFault({ plugin, member, hook, problem: hide(problem), cause })
