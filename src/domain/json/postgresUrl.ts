/**
 * The parameters of a PostgreSQL address. The driver ignores one that it does not know, so that a misspelt `sslmode` would
 * connect without TLS; here it is refused. What it knows: `pg` 8.23 (`connection-parameters.js`) with `pg-connection-string`.
 */
import { hint } from "./Problem.ts"

const sslModes = ["disable", "prefer", "require", "verify-ca", "verify-full", "no-verify"]

/** The values of parameters that have a fixed set of them. */
const choices: ReadonlyMap<string, ReadonlyArray<string>> = new Map([
  ["sslmode", sslModes],
  ["ssl", ["true", "1", "0", "no-verify"]],
  ["sslnegotiation", ["postgres", "direct"]],
  ["uselibpqcompat", ["true"]],
])

const files = ["sslcert", "sslkey", "sslrootcert"]

const names = [
  ...choices.keys(),
  ...files,
  ...[
    "user",
    "password",
    "host",
    "port",
    "application_name",
    "fallback_application_name",
    "client_encoding",
    "options",
  ],
  ...["lock_timeout", "idle_in_transaction_session_timeout", "query_timeout"],
]

/** Parameters of other PostgreSQL clients that the driver or the gateway would ignore, with what to do instead. */
const instead: ReadonlyMap<string, string> = new Map([
  ["channel_binding", "which is not supported: leave it out"],
  ["connect_timeout", "which is always 5 seconds: leave it out"],
  ["statement_timeout", "which is always 10 seconds: leave it out"],
])

const quoted = (words: ReadonlyArray<string>) => words.map((word) => JSON.stringify(word)).join(", ")

/** The name, unless it does not look like one: then it may be a part of a password that was not escaped. */
const shown = (name: string) => (/^[a-z_]{1,40}$/i.test(name) ? `"${name}"` : "one that is no name")

/** What is wrong with the parameters of an address that can be parsed, without its values. `isReadable`: whether there is such a file. */
export const parametersFault = (url: string, isReadable: (path: string) => boolean): string | undefined => {
  const { searchParams, hash } = new URL(url)
  if (hash !== "") return 'expected an address without "#" (%23 in a password)'
  const seen = new Map<string, string>()
  for (const [name, value] of searchParams) {
    const fault = seen.has(name)
      ? `expected the parameter "${name}" once`
      : (parameterFault(name, value) ?? fileFault(name, value, isReadable))
    if (fault !== undefined) return fault
    seen.set(name, value)
  }
  const isVerifyingCa = seen.get("sslmode") === "verify-ca" && seen.has("uselibpqcompat")
  if (isVerifyingCa && !seen.has("sslrootcert")) return "expected sslrootcert beside sslmode=verify-ca, got none"
  const isEncrypted = files.some((file) => seen.has(file)) || /^(?!disable$|0$)/.test(seen.get("sslmode") ?? "disable")
  const isDirect = seen.get("sslnegotiation") === "direct"
  return isDirect && !isEncrypted && !seen.has("ssl")
    ? "expected sslmode beside sslnegotiation=direct, got none"
    : undefined
}

const parameterFault = (name: string, value: string): string | undefined => {
  const why = instead.get(name)
  if (why !== undefined) return `expected an address without the parameter "${name}", ${why}`
  if (!names.includes(name)) return `expected parameters that the driver knows, got ${shown(name)}${hint(name, names)}`
  const words = choices.get(name)
  if (words !== undefined && !words.includes(value))
    return `expected ${name} to be one of ${quoted(words)}, got another value${hint(value, words)}`
  return undefined
}

const fileFault = (name: string, path: string, isReadable: (path: string) => boolean): string | undefined =>
  files.includes(name) && !isReadable(path) ? `expected ${name} to be a file that can be read, got none` : undefined

/** Modes that this version of the driver treats as `verify-full`, with a warning on standard error that the next one will not. */
const aliasesOfVerifyFull = ["prefer", "require", "verify-ca"]

/** The address as the driver gets it: it means the same, and the driver has nothing to say about it. */
export const driverUrl = (url: string): string => {
  const parsed = new URL(url)
  const { searchParams } = parsed
  const mode = searchParams.get("sslmode")
  if (mode === null || searchParams.has("uselibpqcompat") || !aliasesOfVerifyFull.includes(mode)) return url
  searchParams.set("sslmode", "verify-full")
  return parsed.href
}
