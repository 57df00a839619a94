import * as Redacted from "effect/Redacted"

/** `postgres://host:port/database`: without credentials and parameters. */
export const addressOf = (url: Redacted.Redacted): string => {
  const { host, pathname } = new URL(Redacted.value(url))
  return `postgres://${host}${pathname}`
}
