import { withoutKeys } from "../json/redaction.ts"
import type { AnyRequest } from "./operations.ts"

/**
 * The caller's end user as records name them: 16 hex digits of a keyed hash, since the name may be a person's. The same name has
 * another hash in another installation.
 */
export const userHash = (installation: string, user: string): string =>
  new Bun.CryptoHasher("sha256", installation).update(user).digest("hex").slice(0, 16)

/** The end user that a request names; `null`: nobody. */
export const userOf = ({ payload: { user } }: AnyRequest): string | null =>
  typeof user === "string" && user !== "" ? withoutKeys(user) : null
