/** The key of a service account, as Google's console gives it: a file of JSON. */
import { readFile } from "node:fs/promises"
import { isJsonObject } from "headgate/plugin"
import { importPKCS8, SignJWT } from "jose"

export interface ServiceAccount {
  /** Of the account itself, such as `name@project.iam.gserviceaccount.com`. */
  readonly email: string
  readonly project: string | undefined
  /** Where tokens are fetched. */
  readonly tokenUri: string
  /** PEM. */
  readonly privateKey: string
  /** A request for an access token, signed by the account. `now`: Unix seconds. */
  readonly assertion: (now: number) => Promise<string>
}

/** What the token may be used for. */
const scope = "https://www.googleapis.com/auth/cloud-platform"

/** Seconds for which an assertion holds, as Google allows at most. */
const assertionLife = 3600

/** `credentials`: JSON, or the path of a file with it. Rejects with a sentence that has nothing of the key. */
export const serviceAccount = async (credentials: string): Promise<ServiceAccount> => {
  const text = credentials.trimStart().startsWith("{") ? credentials : await contentOf(credentials)
  const { type, client_email: email, private_key: privateKey, private_key_id: kid, ...rest } = parsed(text)
  if (type !== "service_account") throw new Error('credentials: the key is not of "type": "service_account"')
  if (typeof email !== "string" || typeof privateKey !== "string") {
    throw new Error("credentials: the key has no client_email or no private_key")
  }
  const key = await importPKCS8(privateKey, "RS256").catch(() => {
    throw new Error("credentials: the private_key is no RSA key in PKCS #8")
  })
  const { token_uri: address, project_id: project } = rest
  const tokenUri = typeof address === "string" ? address : "https://oauth2.googleapis.com/token"
  return {
    email,
    project: typeof project === "string" ? project : undefined,
    tokenUri,
    privateKey,
    assertion: (now) =>
      new SignJWT({ scope })
        .setProtectedHeader({ alg: "RS256", typ: "JWT", ...(typeof kid === "string" ? { kid } : {}) })
        .setIssuer(email)
        .setAudience(tokenUri)
        .setIssuedAt(now)
        .setExpirationTime(now + assertionLife)
        .sign(key),
  }
}

const contentOf = (path: string): Promise<string> =>
  readFile(path, "utf8").catch(() => {
    throw new Error(`credentials: the file ${path} cannot be read`)
  })

const parsed = (text: string) => {
  try {
    const json: unknown = JSON.parse(text)
    if (isJsonObject(json)) return json
  } catch {
    // Its message would have a part of the key.
  }
  throw new Error("credentials: the key is no JSON object")
}
