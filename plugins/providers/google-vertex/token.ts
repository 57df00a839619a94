/** Access tokens of a service account (RFC 7523): fetched when one is needed, and kept until shortly before they expire. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import { HostFailed, isJsonObject, type SideAnswer, type SignContext } from "headgate/plugin"
import type { ServiceAccount } from "./account.ts"

type TokenContext = Pick<SignContext, "http" | "now">

/** Milliseconds before its end from which a token is not used any more: a request may be under way for a while. */
const margin = 300_000

interface Token {
  readonly text: string
  /** Unix milliseconds. */
  readonly until: number
}

/** Concurrent requests wait for the same token. One that cannot be fetched is fetched again for the next request. */
export const tokenSource = (
  account: ServiceAccount,
): ((context: TokenContext) => Effect.Effect<string, HostFailed>) => {
  let token: Token | undefined
  let fetching: Deferred.Deferred<Token, HostFailed> | undefined

  const fetched = (context: TokenContext): Effect.Effect<Token, HostFailed> =>
    Effect.suspend(() => {
      if (fetching !== undefined) return Deferred.await(fetching)
      const begun = Deferred.unsafeMake<Token, HostFailed>(FiberId.none)
      fetching = begun
      const kept = fetchToken(account, context).pipe(
        Effect.tap((fresh) => {
          token = fresh
        }),
        Effect.ensuring(
          Effect.sync(() => {
            fetching = undefined
          }),
        ),
      )
      // Not a part of the request that needs it first: others wait for it, too, when that one is ended.
      return Effect.zipRight(Effect.forkDaemon(Effect.intoDeferred(kept, begun)), Deferred.await(begun))
    })

  return (context) =>
    token !== undefined && context.now < token.until
      ? Effect.succeed(token.text)
      : Effect.map(fetched(context), ({ text }) => text)
}

const fetchToken = (account: ServiceAccount, { http, now }: TokenContext): Effect.Effect<Token, HostFailed> =>
  Effect.gen(function* () {
    const assertion = yield* Effect.promise(() => account.assertion(Math.floor(now / 1000)))
    const answer = yield* http({
      url: account.tokenUri,
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded", accept: "application/json" },
      body: new URLSearchParams({ grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer", assertion }).toString(),
    })
    const token = answer.status === 200 ? tokenIn(answer.body, now) : refusal(answer)
    return token instanceof HostFailed ? yield* token : token
  })

const tokenIn = (body: string, now: number): Token | HostFailed => {
  const { access_token: text, expires_in: seconds } = objectIn(body)
  if (typeof text !== "string" || text === "" || typeof seconds !== "number") {
    return new HostFailed({ reason: "malformed", cause: "the answer has no access token" })
  }
  return { text, until: now + seconds * 1000 - margin }
}

/** That an account is refused is the operator's matter, whatever the status says. */
const refusal = ({ status, body }: SideAnswer): HostFailed => {
  const { error } = objectIn(body)
  const code = typeof error === "string" ? { code: error } : {}
  const reason = status === 429 ? "rate-limited" : status >= 500 ? "overloaded" : "account"
  return new HostFailed({ reason, status, ...code, cause: "no access token" })
}

const objectIn = (text: string): Readonly<Record<string, unknown>> => {
  try {
    const json: unknown = JSON.parse(text)
    return isJsonObject(json) ? json : {}
  } catch {
    return {}
  }
}
