/** A vendor that wants each request signed: a hash of time, path and body under a secret. */
import { createHmac } from "node:crypto"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { chatProtocol, defineProvider, HostFailed, httpError, noAuth, Secret } from "headgate/plugin"

export default defineProvider({
  id: "signed-like",
  name: "Signed-like",
  auth: noAuth,
  baseUrl: "https://api.signed.example/v1",
  config: Schema.Struct({ signing_secret: Secret }),
  load: ({ signing_secret }) => ({
    protocols: { chat: chatProtocol() },
    error: httpError,
    credentials: { signing_secret },
    sign: (encoded, { url, credentials, now }) => {
      const secret = credentials["signing_secret"]
      if (secret === undefined) return new HostFailed({ reason: "account" })
      const time = new Date(now).toISOString()
      const signature = createHmac("sha256", Redacted.value(secret))
        .update(`${time}\n${new URL(url).pathname}\n`)
        .update(encoded.body)
        .digest("hex")
      return Effect.succeed({
        ...encoded,
        headers: { ...encoded.headers, "x-signed-time": time, "x-signed-hash": signature },
      })
    },
  }),
})
