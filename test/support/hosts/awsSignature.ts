/**
 * Checks signatures of requests to AWS, by "Create a signed AWS API request" of AWS's documentation. Written for tests, from
 * the description alone, so that it shares nothing with what signs.
 */
import { createHash, createHmac } from "node:crypto"

export interface SignedRequest {
  readonly method: string
  /** As it came in the request line, with its query. */
  readonly target: string
  readonly headers: Headers
  readonly body: string
}

const sha256 = (text: string): string => createHash("sha256").update(text, "utf8").digest("hex")
const hmac = (key: string | Uint8Array, text: string): Buffer => createHmac("sha256", key).update(text, "utf8").digest()

/** Everything but unreserved characters, as UTF-8 in percent encoding. */
const encoded = (text: string): string =>
  Array.from(Buffer.from(text), (byte) => {
    const sign = String.fromCharCode(byte)
    return /[A-Za-z0-9._~-]/.test(sign) ? sign : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`
  }).join("")

/** The signature that the request should have, and the one that it has. `scope`: `region/service`. */
export const signatureOf = ({ method, target, headers, body }: SignedRequest, secret: string) => {
  const authorization = headers.get("authorization") ?? ""
  const [, key = "", day = "", scope = "", names = "", found = ""] =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/(.+)\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/.exec(
      authorization,
    ) ?? []
  const [path = "", query = ""] = target.split("?", 2)
  const listed = names.split(";").filter((name) => name !== "")
  const lines = listed.map((name) => `${name}:${(headers.get(name) ?? "").trim().replace(/ +/g, " ")}\n`)
  const canonical = [
    method,
    path.split("/").map(encoded).join("/"),
    query.split("&").toSorted().join("&"),
    lines.join(""),
    names,
    sha256(body),
  ].join("\n")
  const time = headers.get("x-amz-date") ?? ""
  const toSign = ["AWS4-HMAC-SHA256", time, `${day}/${scope}/aws4_request`, sha256(canonical)].join("\n")
  const keyOfScope = [...scope.split("/"), "aws4_request"].reduce(hmac, hmac(`AWS4${secret}`, day))
  const expected = hmac(keyOfScope, toSign).toString("hex")
  return { key, scope, time, names: listed, expected, found, isValid: found !== "" && found === expected }
}
