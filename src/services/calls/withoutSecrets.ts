/** Failures of hosts as they may be shown and logged: without credentials. docs/guarantees.md#g27 */
import type { ProviderEndpoint } from "../../catalogue/endpoints.ts"
import type { HostFailed } from "../../domain/failures/Failure.ts"
import { hiding } from "../../domain/json/redaction.ts"
import { PluginFault } from "../../plugin/checks/PluginFault.ts"
import { secretsIn, shortestCredential } from "./signedSecrets.ts"

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

/** Removes our secrets from a short text of a host. */
export type Shown = (text: string) => string

/** Characters. Longer texts are content, and are not searched. */
const longestShort = 512

/** Searched texts to remember per provider. Hosts repeat them with each answer: a fingerprint, a tier, a model. */
const mostRemembered = 256

interface Searched {
  readonly version: number
  readonly hide: Shown
  readonly texts: Map<string, string>
}

const searched = new WeakMap<ProviderEndpoint, Searched>()

/**
 * Removes secrets from an answer's short texts, such as its fingerprint, before they are shown or traced. `added`:
 * what `sign` added to the request.
 */
export const shownOf = (endpoint: ProviderEndpoint, added: ReadonlyArray<string>): Shown => {
  if (added.length > 0) return (text) => (isShort(text) ? hiding(realSecrets(endpoint, added))(text) : text)
  return (text) => {
    if (!isShort(text)) return text
    const { hide, texts } = searchedAt(endpoint)
    const known = texts.get(text)
    if (known !== undefined) return known
    const shown = hide(text)
    if (texts.size >= mostRemembered) texts.clear()
    texts.set(text, shown)
    return shown
  }
}

const isShort = ({ length }: string): boolean => length >= shortestCredential && length <= longestShort

/** Skips shorter values: a local server may accept any word as a key, and that word may occur in any text. */
const realSecrets = (endpoint: ProviderEndpoint, added: ReadonlyArray<string>): ReadonlyArray<string> =>
  [...secretsOf(endpoint), ...secretsIn(added)].filter(({ length }) => length >= shortestCredential)

const searchedAt = (endpoint: ProviderEndpoint): Searched => {
  const { version } = endpoint.provider.secrets
  const known = searched.get(endpoint)
  if (known?.version === version) return known
  const made = { version, hide: hiding(realSecrets(endpoint, [])), texts: new Map<string, string>() }
  searched.set(endpoint, made)
  return made
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
