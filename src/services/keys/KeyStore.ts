/** Keys: who may call, and within what limits. Only the SHA-256 of a key is stored. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import * as Struct from "effect/Struct"
import { KeyNotAccepted, NotFound, Unavailable } from "../../domain/failures/Failure.ts"
import type { KeyId } from "../../domain/ids.ts"
import type { Actor, Author } from "../../domain/keys/audit.ts"
import { isSettable, type KeyRecord, keyMembers, type SettableMember, unlimitedKey } from "../../domain/keys/key.ts"
import { hasChecksum, keyId, makeSecret, mask } from "../../domain/keys/keySecret.ts"
import { monotonic } from "../request/RequestContext.ts"
import { type KeyPage, type KeyPatch, orUnavailable } from "../storage/ledger.ts"
import { type FoundKey, Storage } from "../storage/Storage.ts"
import { KeyCache } from "./KeyCache.ts"

/** Settings of a new key: of those that may be set, a name, and others that are not to have their defaults. */
export type NewKey = Pick<KeyRecord, "kind" | "name"> & Partial<Pick<KeyRecord, SettableMember>>

/** A new key, with its secret, which is not available later. */
export interface CreatedKey {
  readonly record: KeyRecord
  readonly secret: Redacted.Redacted
}

/** A key with another secret, which is not available later. */
export interface RotatedKey extends CreatedKey {
  /** Unix milliseconds: from then on the secrets before it are not accepted. */
  readonly othersEndAt: number
}

/** Who a secret is. */
export interface Authenticator {
  /**
   * The record of a valid key. Unknown, disabled, expired and deleted keys fail alike, so that nothing is revealed.
   */
  readonly authenticate: (secret: Redacted.Redacted) => Effect.Effect<KeyRecord, KeyNotAccepted | Unavailable>
}

/** Settings of the keys in `Storage`. */
export interface KeyStoreOptions {
  /** A bootstrap key of the operator, which is accepted but not stored. */
  readonly managementKey?: Redacted.Redacted | undefined
}

/** A caller whom an embedder lets in. */
export type KnownKey = Pick<KeyRecord, "id"> & { readonly [M in keyof KeyRecord]?: KeyRecord[M] | undefined }

/** `actor`, for the audit log: the management key that asks for the change. Without one it is the program itself. */
export class KeyStore extends Context.Tag("headgate/KeyStore")<
  KeyStore,
  Authenticator & {
    readonly create: (key: NewKey, actor?: Actor) => Effect.Effect<CreatedKey, Unavailable | NotFound>
    /** The same for the first management key of the installation; `undefined` when there is one already. */
    readonly createFirst: (name: string) => Effect.Effect<CreatedKey | undefined, Unavailable | NotFound>
    /** Ordinary keys, newest first. */
    readonly list: (page: KeyPage) => Effect.Effect<ReadonlyArray<KeyRecord>, Unavailable | NotFound>
    readonly read: (id: KeyId) => Effect.Effect<KeyRecord, Unavailable | NotFound>
    /** In force at once in this process, and within 5 seconds in others on the same database. */
    readonly update: (
      id: KeyId,
      patch: Omit<KeyPatch, "updatedAt">,
      actor?: Actor,
    ) => Effect.Effect<KeyRecord, Unavailable | NotFound>
    /**
     * Gives the key another secret. Those before it are accepted for `overlapMs` more, milliseconds; they end at once with 0. In force
     * as `update` is.
     */
    readonly rotate: (id: KeyId, overlapMs: number, actor?: Actor) => Effect.Effect<RotatedKey, Unavailable | NotFound>
    /** Until when the secrets before the newest are accepted, Unix milliseconds, of those of these keys that have such secrets. */
    readonly previousEnds: (
      ids: ReadonlyArray<KeyId>,
    ) => Effect.Effect<ReadonlyMap<KeyId, number>, Unavailable | NotFound>
    readonly remove: (id: KeyId, actor?: Actor) => Effect.Effect<void, Unavailable | NotFound>
    /** Calls `listener` with each key that was disabled or deleted, from then on until the scope closes. */
    readonly onRevoked: (listener: (id: KeyId) => void) => Effect.Effect<void, never, Scope.Scope>
  }
>() {
  /** Keys in `Storage`. */
  static readonly layer = (options: KeyStoreOptions = {}): Layer.Layer<KeyStore, never, Storage> =>
    Layer.scoped(KeyStore, make(options))

  /**
   * An embedder's own authentication. The gateway's own keys are not used: their routes answer 403, or 404 for a caller of the kind
   * "management". Members that are left out or `undefined` are those of a key without limits, but for `limit`: an amount that
   * could not be read must not become none, so `undefined` there is a defect.
   */
  static readonly layerFrom = (
    authenticate: (secret: Redacted.Redacted) => Effect.Effect<KnownKey, KeyNotAccepted | Unavailable>,
  ) =>
    Layer.succeed(KeyStore, {
      authenticate: (secret) =>
        Effect.gen(function* () {
          const key = yield* completed(yield* authenticate(secret))
          const clock = yield* Effect.clock
          return isOver(key, () => clock.unsafeCurrentTimeMillis()) ? yield* notAccepted : key
        }),
      create: () => noSuchKey,
      createFirst: () => noSuchKey,
      list: () => noSuchKey,
      read: () => noSuchKey,
      update: () => noSuchKey,
      rotate: () => noSuchKey,
      previousEnds: () => noSuchKey,
      remove: () => noSuchKey,
      onRevoked: () => Effect.void,
    })
}

const make = Effect.fnUntraced(function* (options: KeyStoreOptions) {
  const storage = yield* Storage
  const clock = yield* Effect.clock
  const now = () => clock.unsafeCurrentTimeMillis()
  const reached = orUnavailable("storage", storage)
  const monotonicMs = monotonic(clock)
  const workspaceId = storage.installation
  const cache = new KeyCache()
  const listeners = new Set<(id: KeyId) => void>()
  const revoked = (id: KeyId) => {
    for (const listener of listeners) listener(id)
  }
  // By another process, or by this one, which has done so already.
  yield* storage.shared?.on({
    keyChanged: (id, isRevoked) => {
      cache.drop(id)
      if (isRevoked) revoked(id)
    },
  }) ?? Effect.void
  const author = (actor: Actor = "gateway"): Author => ({ actor, at: now() })
  const bootstrap = options.managementKey && bootstrapKey(options.managementKey, workspaceId, now())

  const isUsable = (found: FoundKey | undefined): found is FoundKey => found !== undefined && !isOver(found, now)

  /** From the database. */
  const load = (secret: KeyId): Effect.Effect<FoundKey | undefined, Unavailable> =>
    Effect.suspend(() => {
      const { drops } = cache
      // Read again if a key was made or changed meanwhile: it may be this one, after it was read.
      return Effect.flatMap(reached(storage.keys.find(secret)), (found) =>
        cache.drops === drops ? Effect.succeed(found) : load(secret),
      )
    })

  const find = (id: KeyId): Effect.Effect<FoundKey | undefined, Unavailable> => {
    const known = cache.get(id)
    if (known !== undefined) return Effect.succeed(known)
    return Effect.tap(load(id), (found) => found && cache.put(id, found))
  }

  /**
   * For a secret that is not in the cache as usable. An unknown, a disabled and an expired one are treated alike: read once, and then
   * refused from memory for a while. So the time of the answer does not tell them apart.
   */
  const lookUp = (secret: KeyId): Effect.Effect<KeyRecord, KeyNotAccepted | Unavailable> => {
    if (cache.isRefused(secret, monotonicMs())) return notAccepted
    const known = cache.get(secret)
    if (isUsable(known)) return Effect.succeed(known)
    return Effect.flatMap(load(secret), (found) => {
      if (isUsable(found)) {
        cache.put(secret, found)
        return Effect.succeed(found)
      }
      cache.refuse(secret, monotonicMs())
      return notAccepted
    })
  }
  const lookUps = new LookUps(lookUp)

  /** The ordinary key with this id, or with a secret of this hash. */
  const ordinary = (id: KeyId): Effect.Effect<KeyRecord, Unavailable | NotFound> =>
    Effect.flatMap(find(id), (found) => (found?.kind === "ordinary" ? Effect.succeed(found) : noSuchKey))

  const made = (key: NewKey): CreatedKey => {
    const secret = makeSecret(key.kind)
    // Not all of `key`: a caller's object may have more members.
    const settings = Struct.pick(key, ...keyMembers.filter(isSettable))
    const record: KeyRecord = {
      ...unlimitedKey,
      ...defined(settings),
      id: keyId(secret),
      kind: key.kind,
      label: mask(secret),
      createdAt: now(),
      workspaceId,
    }
    return { record, secret: Redacted.make(secret) }
  }

  return KeyStore.of({
    authenticate: (secret) => {
      const text = Redacted.value(secret)
      const id = keyId(text)
      if (id === bootstrap?.id) return Effect.succeed(bootstrap)
      const known = cache.get(id)
      if (isUsable(known)) return Effect.succeed(known)
      // The checksum is public: it spares the database misspelt keys, not attacks.
      if (!hasChecksum(text) || cache.isRefused(id, monotonicMs())) return notAccepted
      return lookUps.run(id)
    },
    create: (key, actor) =>
      Effect.suspend(() => {
        const created = made(key)
        return Effect.map(reached(storage.keys.insert(created.record, author(actor))), () => {
          cache.drop(created.record.id)
          return created
        })
      }),
    createFirst: (name) =>
      Effect.suspend(() => {
        const created = made({ kind: "management", name })
        return Effect.map(reached(storage.keys.insertFirst(created.record, author())), (isFirst) =>
          isFirst ? created : undefined,
        )
      }),
    list: (page) => reached(storage.keys.list(page)),
    read: ordinary,
    update: (named, patch, actor) =>
      Effect.gen(function* () {
        const { id } = yield* ordinary(named)
        const after = yield* reached(storage.keys.update(id, { ...patch, updatedAt: now() }, author(actor)))
        cache.drop(id)
        if (after === undefined) return yield* noSuchKey
        if (after.disabled) revoked(id)
        return after
      }),
    rotate: (named, overlapMs, actor) =>
      Effect.gen(function* () {
        const { id, kind } = yield* ordinary(named)
        const secret = makeSecret(kind)
        const by = author(actor)
        const othersEndAt = by.at + overlapMs
        const added = { id: keyId(secret), label: mask(secret), othersEndAt }
        const record = yield* reached(storage.keys.rotate(id, added, by))
        cache.drop(id)
        if (record === undefined) return yield* noSuchKey
        return { record, secret: Redacted.make(secret), othersEndAt }
      }),
    previousEnds: (ids) =>
      Effect.map(reached(storage.keys.previousEnds(ids)), (ends) => {
        const at = now()
        return new Map([...ends].filter(([, end]) => end > at))
      }),
    remove: (named, actor) =>
      Effect.gen(function* () {
        const { id } = yield* ordinary(named)
        yield* reached(storage.keys.remove(id, author(actor)))
        cache.drop(id)
        revoked(id)
      }),
    onRevoked: (listener) =>
      Effect.acquireRelease(
        Effect.sync(() => listeners.add(listener)),
        () => Effect.sync(() => listeners.delete(listener)),
      ),
  })
})

const completed = (known: KnownKey): Effect.Effect<KeyRecord> => {
  if (Object.hasOwn(known, "limit") && known.limit === undefined) {
    return Effect.dieMessage(
      "authenticate: limit is undefined; it is null for no limit, and parseUsd makes none of a text that is no amount",
    )
  }
  return Effect.succeed({ ...unlimitedKey, ...defined(known), id: known.id })
}

/** Without the members that are `undefined`. */
const defined = <R extends object>(members: R) =>
  // Object.fromEntries loses the type.
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as {
    readonly [M in keyof R]?: Exclude<R[M], undefined>
  }

/** `now`: read only for a key or a secret that ends. */
const isOver = ({ disabled, expiresAt, secretEndsAt }: FoundKey, now: () => number): boolean =>
  disabled || (expiresAt !== null && expiresAt <= now()) || (secretEndsAt !== undefined && secretEndsAt <= now())

const notAccepted = Effect.fail(new KeyNotAccepted())
const noSuchKey = Effect.fail(new NotFound({ what: "This key" }))

const bootstrapKey = (secret: Redacted.Redacted, workspaceId: string, createdAt: number): KeyRecord => ({
  ...unlimitedKey,
  id: keyId(Redacted.value(secret)),
  kind: "management",
  name: "HEADGATE_MANAGEMENT_KEY",
  label: mask(Redacted.value(secret)),
  createdAt,
  workspaceId,
})

/** Reads of keys that run at once, and that wait for their turn. Further ones are refused. */
const mostLookUps = { running: 8, waiting: 256 }

/** Bounds the reads of unknown keys: an attacker can make up any number of them, and each is read once. */
class LookUps {
  private readonly lookUp: (id: KeyId) => Effect.Effect<KeyRecord, KeyNotAccepted | Unavailable>
  private readonly permits = Effect.unsafeMakeSemaphore(mostLookUps.running)
  private pending = 0

  constructor(lookUp: (id: KeyId) => Effect.Effect<KeyRecord, KeyNotAccepted | Unavailable>) {
    this.lookUp = lookUp
  }

  run(id: KeyId): Effect.Effect<KeyRecord, KeyNotAccepted | Unavailable> {
    return Effect.suspend(() => {
      if (this.pending >= mostLookUps.running + mostLookUps.waiting) return tooManyLookUps
      this.pending += 1
      // Another one of the same key may have been answered while this one waited.
      return this.permits
        .withPermits(1)(Effect.suspend(() => this.lookUp(id)))
        .pipe(
          Effect.ensuring(
            Effect.sync(() => {
              this.pending -= 1
            }),
          ),
        )
    })
  }
}

const tooManyLookUps = Effect.fail(new Unavailable({ why: "overloaded", retryAfterSeconds: 1 }))
