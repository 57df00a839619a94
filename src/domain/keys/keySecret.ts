/** The text of a key: how it is generated, and its id. `domain/json/redaction.ts` defines how it is displayed. */
import * as Brand from "effect/Brand"
import { inBase62, type KeyId, randomText } from "../ids.ts"
import type { KeyRecord } from "./key.ts"

/** Brands without a check: what a hash function returns needs none, and this runs on every request. */
const asKeyId = Brand.nominal<KeyId>()

/** The id of a key: the lower-case hex SHA-256 of all its characters. */
export const keyId = (secret: string): KeyId => asKeyId(Bun.SHA256.hash(secret, "hex"))

const checksum = (body: string): string => inBase62(Bun.hash.crc32(body), 6)

/** A prefix for the kind, 43 random characters (256 bits), and 6 characters of their CRC-32. */
export const makeSecret = (kind: KeyRecord["kind"]): string => {
  const body = `${kind === "management" ? "sk-gwm-" : "sk-gw-"}${randomText(43)}`
  return body + checksum(body)
}

const form = /^sk-gwm?-[0-9A-Za-z]{49}$/

/** Whether a text has the checksum of a key. A mistyped one is refused without a database lookup. */
export const hasChecksum = (secret: string): boolean =>
  form.test(secret) && checksum(secret.slice(0, -6)) === secret.slice(-6)

/** What is wrong with a management key that the operator chose; `undefined`: nothing. It should not be guessed, and has to fit into a header. */
export const managementKeyFault = (key: string): string | undefined => faultOf(key, 32)

/** The same of a token that reads `/metrics` alone. */
export const metricsTokenFault = (token: string): string | undefined => faultOf(token, 16)

const faultOf = (text: string, least: number): string | undefined => {
  if (text.length >= least && /^[\x21-\x7e]*$/.test(text)) return undefined
  return `expected at least ${least} visible ASCII characters, got ${text.length < least ? "fewer" : "others among them"}`
}
