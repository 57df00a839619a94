/** Harbor, a made-up vendor that wants an access token in place of a key: fetched once for many requests, and again when it is over. */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import {
  chatProtocol,
  defineProvider,
  HostFailed,
  httpError,
  isJsonObject,
  noAuth,
  Secret,
  type SignContext,
} from "headgate/plugin"

const tokenUrl = "https://login.harbor.example/token"

/** Milliseconds before its end from which a token is not used any more: a request may be under way for a while. */
const margin = 60_000

interface Token {
  readonly text: string
  /** Unix milliseconds. */
  readonly until: number
}

const fetchToken = ({ http, now, credentials }: SignContext): Effect.Effect<Token, HostFailed> =>
  Effect.gen(function* () {
    const secret = credentials["client_secret"]
    const answer = yield* http({
      url: tokenUrl,
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams({
        grant_type: "client_credentials",
        client_secret: secret === undefined ? "" : Redacted.value(secret),
      }).toString(),
    })
    // The vendor has said no: that is the operator's account, or passes by itself.
    if (answer.status !== 200) {
      const reason = answer.status === 429 ? "rate-limited" : answer.status >= 500 ? "overloaded" : "account"
      return yield* new HostFailed({ reason, status: answer.status, cause: "no access token" })
    }
    const { access_token: text, expires_in: seconds } = objectIn(answer.body)
    if (typeof text !== "string" || text === "" || typeof seconds !== "number") {
      return yield* new HostFailed({ reason: "malformed", cause: "the answer has no access token" })
    }
    return { text, until: now + seconds * 1000 - margin }
  })

const objectIn = (text: string): Readonly<Record<string, unknown>> => {
  try {
    const json: unknown = JSON.parse(text)
    return isJsonObject(json) ? json : {}
  } catch {
    return {}
  }
}

export default defineProvider({
  id: "harbor",
  name: "Harbor",
  baseUrl: "https://api.harbor.example/v1",
  auth: noAuth,
  config: Schema.Struct({ client_secret: Secret }),
  load: ({ client_secret }) => {
    let token: Token | undefined
    // Of requests at the same moment the first one fetches; the others wait for it, and find the token.
    const oneAtATime = Effect.unsafeMakeSemaphore(1)
    const tokenFor = (context: SignContext) =>
      oneAtATime.withPermits(1)(
        Effect.suspend(() =>
          token !== undefined && context.now < token.until
            ? Effect.succeed(token)
            : Effect.tap(fetchToken(context), (fresh) => {
                token = fresh
              }),
        ),
      )
    return {
      protocols: { chat: chatProtocol() },
      credentials: { client_secret },
      sign: (encoded, context) =>
        Effect.map(tokenFor(context), ({ text }) => ({
          ...encoded,
          headers: { ...encoded.headers, authorization: `Bearer ${text}` },
        })),
      error: (status, headers, body) => {
        // The vendor does not take it any more, whatever its end was said to be: the next request fetches another one.
        if (status === 401) token = undefined
        return httpError(status, headers, body)
      },
      models: async () => [{ id: "harbor/small", context_length: 32_768, hosts: [{ model: "small" }] }],
    }
  },
})
