/** `/session`: signing in with a key, who has signed in, and signing out. docs/console.md */
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { NotFound } from "../../domain/failures/Failure.ts"
import { isoTime } from "../../domain/keys/keyValues.ts"
import { roleOf, roles } from "../../domain/keys/roles.ts"
import { version } from "../../process/version.ts"
import { Sessions } from "../../services/keys/Sessions.ts"
import { Answering } from "../answer.ts"
import { addressOf, CallerAddresses } from "../CallerAddresses.ts"
import { badBody, notAccepted, notFound, notPermitted, tooManyRequests, unavailable } from "../refusals.ts"
import type { Caller } from "../sessions/callers.ts"
import { cookieOf, noCookie } from "../sessions/cookie.ts"
import { placeOf, signInRefusal } from "../sessions/place.ts"
import { AskWhoCalls, AuthorizeSession, CallerOrNobody, CurrentCaller } from "./Authorize.ts"
import { bodyReader } from "./bodies.ts"
import { ControlSettings } from "./ControlSettings.ts"
import { decodeBody } from "./keys/keyRequests.ts"

const Session = Schema.Struct({
  kind: Schema.Literal("management", "ordinary"),
  /** `null`: of an ordinary key. */
  role: Schema.NullOr(Schema.Literal(...roles)),
  name: Schema.String,
  label: Schema.String,
  hash: Schema.String,
  /** These three are null for a request that has the key itself. */
  created_at: Schema.NullOr(Schema.String),
  expires_at: Schema.NullOr(Schema.String),
  /** It ends then unless it is used before. */
  idle_ends_at: Schema.NullOr(Schema.String),
  /** Of the gateway; `null`: for ordinary keys. */
  version: Schema.NullOr(Schema.String),
  /** `server.public_url`. */
  public_url: Schema.NullOr(Schema.String),
}).annotations({ identifier: "Session" })

const Answer = Schema.Struct({ data: Session })

/** `null`: the request has neither a key nor a session, as that of a browser which has not signed in. */
const AnswerOrNobody = Schema.Struct({ data: Schema.NullOr(Session) })

const SignIn = Schema.Struct({ key: Schema.String }).annotations({ identifier: "SignIn" })

/** Whoever sends it has shown no key yet. */
const mostBytes = 8192

export const SessionGroup = HttpApiGroup.make("session")
  .add(
    HttpApiEndpoint.post("signIn", "/session")
      .setPayload(SignIn)
      .addSuccess(Answer)
      .addError(badBody)
      .addError(notAccepted)
      .addError(notPermitted)
      .addError(notFound)
      .addError(tooManyRequests)
      .annotate(
        OpenApi.Description,
        "Signs in with a key: the answer has a cookie, which stands in for the key on the control plane and at `/route/explain`. 403 over plain HTTP from another machine, and for pages of another origin. 429 after too many tries. 404 where an app says who may call.",
      ),
  )
  .add(
    HttpApiEndpoint.get("read", "/session")
      .addSuccess(AnswerOrNobody)
      .middleware(AskWhoCalls)
      .annotate(
        OpenApi.Description,
        "Who calls, by session or by key, and until when. `data` is null where the request has neither; 401 where it has one that is not accepted.",
      ),
  )
  .add(
    HttpApiEndpoint.del("signOut", "/session")
      .addSuccess(Schema.Struct({ deleted: Schema.Literal(true) }))
      .addError(notFound)
      .middleware(AuthorizeSession)
      .annotate(OpenApi.Description, "Signs out: the session ends at once, everywhere."),
  )
  .addError(unavailable)
  .prefix("/api/v1")

const decodeSignIn = decodeBody(SignIn, new Set())

const noSession = new NotFound({ what: "A session of this request, which has the key itself," })

export const sessionHandlers = HttpApiBuilder.group(HttpApi.make("headgate").add(SessionGroup), "session", (handlers) =>
  Effect.gen(function* () {
    const sessions = yield* Sessions
    const addresses = yield* CallerAddresses
    const { publicUrl = null } = yield* ControlSettings
    const body = yield* bodyReader(mostBytes)
    const described = ({ key, session }: Caller): typeof Session.Type => ({
      kind: key.kind,
      role: roleOf(key),
      name: key.name,
      label: key.label,
      hash: key.id,
      created_at: session === undefined ? null : isoTime(session.createdAt),
      expires_at: session === undefined ? null : isoTime(session.expiresAt),
      idle_ends_at: session === undefined ? null : isoTime(session.idleEndsAt),
      version: key.kind === "management" ? version : null,
      public_url: publicUrl,
    })
    /** An answer that gives the browser a cookie, or takes it away. */
    const withCookie = (value: object, cookie: string) =>
      HttpServerResponse.unsafeJson(value, { headers: { "set-cookie": cookie } })

    return handlers
      .handleRaw("signIn", ({ request }) =>
        Effect.gen(function* () {
          const web = yield* Effect.orDie(HttpServerRequest.toWeb(request))
          const place = placeOf(publicUrl, web.url)
          const address = addressOf(addresses, request)
          const refusal = signInRefusal(web, place, { peer: Option.getOrNull(request.remoteAddress), address })
          if (refusal !== undefined) return yield* refusal
          const { key: written } = yield* decodeSignIn(yield* body.object(request))
          const session = yield* sessions.signIn({
            secret: Redacted.make(written.trim()),
            address,
            refusal: (key) => addresses.refusal(key, () => address),
          })
          const { id, key } = session
          const served = yield* Answering
          if (served !== undefined) served.key = key
          return withCookie({ data: described({ key, session }) }, cookieOf(Redacted.value(id), place))
        }),
      )
      .handle("read", () =>
        Effect.map(CallerOrNobody, (caller) => ({ data: caller === null ? null : described(caller) })),
      )
      .handle("signOut", ({ request }) =>
        Effect.gen(function* () {
          const { session } = yield* CurrentCaller
          if (session === undefined) return yield* noSession
          yield* sessions.end(session)
          const { url } = yield* Effect.orDie(HttpServerRequest.toWeb(request))
          return withCookie({ deleted: true }, noCookie(placeOf(publicUrl, url)))
        }),
      )
  }),
)
