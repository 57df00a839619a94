import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import * as Redacted from "effect/Redacted"
import { HostFailed, isJsonObject, type Provider, type SideAnswer, type SignContext } from "headgate/plugin"

interface Token {
  readonly text: string
  /** Unix milliseconds. */
  readonly until: number
}

/** A token is not used in its last minute: a request may be under way. */
const margin = 60_000

export const tokenSource = (url: string, client: string): NonNullable<Provider["sign"]> => {
  let token: Token | undefined
  let fetching: Deferred.Deferred<Token, HostFailed> | undefined

  const fetched = (context: SignContext): Effect.Effect<Token, HostFailed> => {
    if (fetching !== undefined) return Deferred.await(fetching)
    const begun = Deferred.unsafeMake<Token, HostFailed>(FiberId.none)
    fetching = begun
    const kept = fetchToken(url, client, context).pipe(
      Effect.tap((fresh) => {
        token = fresh
      }),
      Effect.ensuring(
        Effect.sync(() => {
          fetching = undefined
        }),
      ),
    )
    return Effect.zipRight(Effect.forkDaemon(Effect.intoDeferred(kept, begun)), Deferred.await(begun))
  }

  return (encoded, context) =>
    Effect.suspend(() => {
      const { now } = context
      const current = token !== undefined && now < token.until ? Effect.succeed(token) : fetched(context)
      return Effect.map(current, ({ text }) => ({
        ...encoded,
        headers: { ...encoded.headers, authorization: `Bearer ${text}` },
      }))
    })
}

const fetchToken = (url: string, client: string, { http, credentials, now }: SignContext) =>
  Effect.gen(function* () {
    const secret = credentials["client_secret"]
    if (secret === undefined) return yield* new HostFailed({ reason: "account" })
    const body = new URLSearchParams({ client_id: client, client_secret: Redacted.value(secret) }).toString()
    const answer = yield* http({ url, method: "POST", body })
    if (answer.status !== 200) return yield* refusal(answer)
    const { access_token: text, expires_in: seconds } = objectIn(answer.body)
    if (typeof text !== "string" || typeof seconds !== "number") return yield* new HostFailed({ reason: "malformed" })
    return { text, until: now + seconds * 1000 - margin }
  })

/** That a client is refused is the operator's matter, whatever the status says. */
const refusal = ({ status }: SideAnswer): HostFailed => {
  const reason = status === 429 ? "rate-limited" : status >= 500 ? "overloaded" : "account"
  return new HostFailed({ reason, status })
}

const objectIn = (text: string): Readonly<Record<string, unknown>> => {
  try {
    const json: unknown = JSON.parse(text)
    return isJsonObject(json) ? json : {}
  } catch {
    return {}
  }
}
