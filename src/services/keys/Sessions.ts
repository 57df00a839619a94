/**
 * Sessions: a browser that has signed in with a key keeps a random id in a cookie in place of the key. The database has the hash of that id,
 * and the hash of the secret that signed in, so that a session ends when that secret does. A session is valid at every gateway on the same
 * database. See docs/decisions/0081-sessions.md.
 */
import type * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import {
  type KeyNotAccepted,
  NotFound,
  type NotPermitted,
  RateLimited,
  Unavailable,
} from "../../domain/failures/Failure.ts"
import { randomText } from "../../domain/ids.ts"
import type { Author } from "../../domain/keys/audit.ts"
import type { KeyRecord } from "../../domain/keys/key.ts"
import { hasChecksum, keyId } from "../../domain/keys/keySecret.ts"
import { monotonic } from "../request/RequestContext.ts"
import { makeRemovals } from "../request/removals.ts"
import { type DataAtRest, type FoundKey, Storage } from "../storage/Storage.ts"
import { orUnavailable } from "../storage/StorageUnavailable.ts"
import type { SessionRecord, SessionRepository } from "../storage/sessions.ts"
import { survivingDefects } from "../storage/survivingDefects.ts"
import { notAccepted } from "./KeyReader.ts"
import { KeyStore } from "./KeyStore.ts"
import { SignInTries } from "./SignInTries.ts"

const minuteMs = 60_000
/** How long a session lasts at most, and how long without being used. */
const longestMs = 8 * 60 * minuteMs
const idleMs = 30 * minuteMs
/** How often the use of a session is written, at most. */
const seenEveryMs = minuteMs
/** Sessions of one secret. The oldest ends when there is one more. */
const mostPerSecret = 100
const pruneEveryMs = 15 * minuteMs
/** Sessions that are removed by one statement. */
const prunedAtOnce = 500
/** Reads that run at once, and that wait for their turn: anybody can make up an id, and each is read once. */
const mostReads = { running: 8, waiting: 256 }

/** A session in force. Times are Unix milliseconds. */
export interface OpenSession {
  /** Its id, as the cookie has it. */
  readonly id: Redacted.Redacted
  readonly key: KeyRecord
  readonly createdAt: number
  /** It ends then at the latest. */
  readonly expiresAt: number
  /** It ends then unless it is used before. */
  readonly idleEndsAt: number
}

/** Who wants to sign in. */
export interface SignIn {
  readonly secret: Redacted.Redacted
  /** The caller's IP address; `null`: it is not known. */
  readonly address: string | null
  /** Why this key may not be used from there. */
  readonly refusal: (key: KeyRecord) => NotPermitted | undefined
}

export class Sessions extends Context.Tag("headgate/Sessions")<
  Sessions,
  {
    /** Begins a session. Not found where the keys are not the gateway's own. Tries are bounded; those that succeed do not count. */
    readonly signIn: (
      wanted: SignIn,
    ) => Effect.Effect<OpenSession, KeyNotAccepted | NotFound | NotPermitted | RateLimited | Unavailable>
    /** The session with this id. Unknown and ended ones, and those of a key that is no longer accepted, fail alike. */
    readonly find: (id: string) => Effect.Effect<OpenSession, KeyNotAccepted | Unavailable>
    /** Ends it, everywhere. */
    readonly end: (session: OpenSession) => Effect.Effect<void, Unavailable>
  }
>() {
  static readonly layer: Layer.Layer<Sessions, never, KeyStore | Storage> = Layer.scoped(
    Sessions,
    Effect.gen(function* () {
      const storage = yield* Storage
      const { authenticate, live } = yield* KeyStore
      if (live === undefined) return without
      const sessions = new KeptSessions(storage, yield* Effect.clock, { authenticate, live })
      const round = survivingDefects("the removal of sessions that have ended")(sessions.prune)
      yield* Effect.forkScoped(Effect.schedule(round, Schedule.spaced(pruneEveryMs)))
      return {
        signIn: (wanted) => sessions.signIn(wanted),
        find: (id) => sessions.find(id),
        end: (session) => sessions.end(session),
      }
    }),
  )
}

/** The app around the gateway says who may call, so there is nobody to sign in. */
const without: Sessions["Type"] = {
  signIn: () => new NotFound({ what: "Signing in", hint: "The app around this gateway says who may call." }),
  find: () => notAccepted,
  end: () => Effect.void,
}

/** Of an id: what cannot be one is not looked for. */
const idForm = /^[0-9A-Za-z]{43}$/

const hashOf = (id: string): string => Bun.SHA256.hash(id, "hex")

type Keys = Required<Pick<KeyStore["Type"], "authenticate" | "live">>

/** Sessions in `Storage`. */
class KeptSessions {
  private readonly repository: SessionRepository
  private readonly keys: Keys
  private readonly reached: ReturnType<typeof orUnavailable>
  /** Unix milliseconds. */
  private readonly now: () => number
  private readonly monotonicMs: () => number
  private readonly mayRemove: () => boolean
  private readonly tries = new SignInTries()
  private readonly turns = Effect.unsafeMakeSemaphore(mostReads.running)
  private pending = 0

  constructor(storage: DataAtRest, clock: Clock.Clock, keys: Keys) {
    this.repository = storage.sessions
    this.keys = keys
    this.reached = orUnavailable("storage", storage)
    this.now = () => clock.unsafeCurrentTimeMillis()
    this.monotonicMs = monotonic(clock)
    this.mayRemove = makeRemovals(clock)
  }

  signIn({ secret, address, refusal }: SignIn) {
    return Effect.gen(this, function* () {
      const begun = this.tries.begin(address, this.monotonicMs(), hasChecksum(Redacted.value(secret)))
      if ("waitMs" in begun) return yield* tooMany(begun.limit, begun.waitMs, this.now())
      const giveBack = Effect.sync(() => this.tries.giveBack(begun))
      const key: FoundKey = yield* Effect.tapErrorTag(this.keys.authenticate(secret), "Unavailable", () => giveBack)
      this.tries.succeeded(begun)
      const refused = refusal(key)
      if (refused !== undefined) return yield* refused
      const id = randomText(43)
      const at = this.now()
      const record = { id: hashOf(id), secret: keyId(Redacted.value(secret)), createdAt: at, seenAt: at }
      yield* this.reached(this.repository.insert(record, mostPerSecret, authorOf(key, at)))
      return openOf(id, record, key)
    })
  }

  find(id: string): Effect.Effect<OpenSession, KeyNotAccepted | Unavailable> {
    if (!idForm.test(id)) return notAccepted
    return Effect.gen(this, function* () {
      const record = yield* this.inTurn(this.reached(this.repository.find(hashOf(id))))
      const at = this.now()
      if (record === undefined || isOver(record, at)) return yield* notAccepted
      const key = yield* this.keys.live(record.secret)
      if (at - record.seenAt < seenEveryMs) return openOf(id, record, key)
      // A session that can be read is good also where this cannot be written; that was logged.
      yield* Effect.ignore(this.reached(this.repository.seen(record.id, at)))
      return openOf(id, { ...record, seenAt: at }, key)
    })
  }

  end({ id, key }: OpenSession): Effect.Effect<void, Unavailable> {
    return Effect.suspend(() =>
      this.reached(this.repository.remove(hashOf(Redacted.value(id)), authorOf(key, this.now()))),
    )
  }

  /** Sessions of keys that were deleted go, too, once they are not used any more. A database that is away is asked again next time. */
  readonly prune: Effect.Effect<void> = Effect.ignore(
    Effect.gen(this, function* () {
      if (!this.mayRemove()) return
      while ((yield* this.repository.prune(this.now() - idleMs, prunedAtOnce)) === prunedAtOnce);
    }),
  )

  private inTurn<A>(read: Effect.Effect<A, Unavailable>): Effect.Effect<A, Unavailable> {
    return Effect.suspend(() => {
      if (this.pending >= mostReads.running + mostReads.waiting) {
        return new Unavailable({ why: "overloaded", retryAfterSeconds: 1 })
      }
      this.pending += 1
      const ended = Effect.sync(() => {
        this.pending -= 1
      })
      return Effect.ensuring(this.turns.withPermits(1)(read), ended)
    })
  }
}

const isOver = ({ createdAt, seenAt }: SessionRecord, now: number): boolean =>
  createdAt + longestMs <= now || seenAt + idleMs <= now

/** The audit log has the sessions of those who can change something. */
const authorOf = ({ kind, id }: KeyRecord, at: number): Author | undefined =>
  kind === "management" ? { actor: id, at } : undefined

const openOf = (id: string, { createdAt, seenAt }: SessionRecord, key: FoundKey): OpenSession => ({
  id: Redacted.make(id),
  key,
  createdAt,
  expiresAt: Math.min(
    createdAt + longestMs,
    key.expiresAt ?? Number.POSITIVE_INFINITY,
    key.secretEndsAt ?? Number.POSITIVE_INFINITY,
  ),
  idleEndsAt: seenAt + idleMs,
})

const tooMany = (limit: number, waitMs: number, now: number) =>
  new RateLimited({
    scope: "sign-in",
    limit,
    resetsAt: now + Math.ceil(waitMs),
    retryAfterSeconds: Math.ceil(waitMs / 1000),
  })
