/**
 * Signature Version 4, by `aws4`: it is synchronous, so that no request waits for its signature. What is signed:
 * method, path, host, time, type and body.
 */
import { RequestSigner } from "aws4"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type { Credentials, Encoded, SignContext } from "headgate/plugin"

/** Its two endpoints are two services to a signature. */
const serviceOf = (url: string): string =>
  new URL(url).host.startsWith("bedrock-mantle.") ? "bedrock-mantle" : "bedrock"

/** Signs requests to Bedrock in a region. A Bedrock API key takes precedence: then nothing is signed. */
export const signer =
  (region: string) =>
  (encoded: Encoded, context: SignContext): Effect.Effect<Encoded> =>
    Effect.succeed(
      context.credentials["api_key"] === undefined
        ? signed({ region, service: serviceOf(context.url) }, encoded, context)
        : encoded,
    )

export const signed = (
  { region, service }: { readonly region: string; readonly service: string },
  encoded: Encoded,
  { url, credentials, now }: Pick<SignContext, "url" | "credentials" | "now">,
): Encoded => {
  const { method = "POST", body, headers } = encoded
  const { host, pathname, search } = new URL(url)
  const time = new Date(now).toISOString().replace(/[:-]|\.\d{3}/g, "")
  const session = secretOf(credentials, "session_token")
  const covered = {
    "content-type": headers?.["content-type"] ?? "application/json",
    "x-amz-date": time,
    ...(session === "" ? {} : { "x-amz-security-token": session }),
  }
  const signing = new RequestSigner(
    {
      method,
      path: pathname + search,
      body: typeof body === "string" ? body : Buffer.from(body),
      service,
      region,
      headers: { host, ...covered },
      // Else it would sign further headers, which are not ours to write.
      doNotModifyHeaders: true,
    },
    {
      accessKeyId: secretOf(credentials, "access_key_id"),
      secretAccessKey: secretOf(credentials, "secret_access_key"),
    },
  )
  signing.datetime = time
  signing.prepareRequest()
  return { ...encoded, headers: { ...headers, ...covered, authorization: signing.authHeader() } }
}

const secretOf = (credentials: Credentials, name: string): string => {
  const secret = credentials[name]
  return secret === undefined ? "" : Redacted.value(secret)
}
