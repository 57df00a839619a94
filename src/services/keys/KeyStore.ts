/** Keys: who may call, and within what limits. Only the SHA-256 of a key is stored. */
import type * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import * as Struct from "effect/Struct"
import { type KeyNotAccepted, NotFound, NotPermitted, type Unavailable } from "../../domain/failures/Failure.ts"
import type { KeyId } from "../../domain/ids.ts"
import { mask, withoutKeys } from "../../domain/json/redaction.ts"
import type { Actor, Author } from "../../domain/keys/audit.ts"
import { isSettable, type KeyRecord, keyMembers, type SettableMember, unlimitedKey } from "../../domain/keys/key.ts"
import { hasChecksum, keyId, makeSecret } from "../../domain/keys/keySecret.ts"
import {
  type DataAtRest,
  type FoundKey,
  type KeyFilter,
  type KeyPage,
  type KeyPatch,
  type KeyRepository,
  Storage,
} from "../storage/Storage.ts"
import { orUnavailable } from "../storage/StorageUnavailable.ts"
import { isOver, KeyReader, notAccepted } from "./KeyReader.ts"

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
    /**
     * The same for a secret of which only the hash is known, as `keyId` makes it: a session has that of the secret which signed in. Absent:
     * the keys are not the gateway's own, and there are no sessions.
     */
    readonly live?: (secret: KeyId) => Effect.Effect<FoundKey, KeyNotAccepted | Unavailable>
    /** Newest first. */
    readonly list: (page: KeyPage) => Effect.Effect<ReadonlyArray<KeyRecord>, Unavailable | NotFound>
    /** How many there are, of the newest `mostKeysSearched`. Absent: not known. */
    readonly count?: (filter: KeyFilter) => Effect.Effect<number, Unavailable | NotFound>
    readonly read: (id: KeyId) => Effect.Effect<KeyRecord, Unavailable | NotFound>
    /**
     * In force at once in this process, and within 5 seconds in others on the same database. Not permitted where no lasting management key
     * with all roles would be left, unless there is a bootstrap key.
     */
    readonly update: (
      id: KeyId,
      patch: Omit<KeyPatch, "updatedAt">,
      actor?: Actor,
    ) => Effect.Effect<KeyRecord, Unavailable | NotFound | NotPermitted>
    /**
     * Gives the key another secret. Those before it are accepted for `overlapMs` more, milliseconds; they end at once with 0. In force
     * as `update` is.
     */
    readonly rotate: (id: KeyId, overlapMs: number, actor?: Actor) => Effect.Effect<RotatedKey, Unavailable | NotFound>
    /** Until when the secrets before the newest are accepted, Unix milliseconds, of those of these keys that have such secrets. */
    readonly previousEnds: (
      ids: ReadonlyArray<KeyId>,
    ) => Effect.Effect<ReadonlyMap<KeyId, number>, Unavailable | NotFound>
    /** Not permitted as `update` is not. */
    readonly remove: (id: KeyId, actor?: Actor) => Effect.Effect<void, Unavailable | NotFound | NotPermitted>
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
      count: () => noSuchKey,
      read: () => noSuchKey,
      update: () => noSuchKey,
      rotate: () => noSuchKey,
      previousEnds: () => noSuchKey,
      remove: () => noSuchKey,
      onRevoked: () => Effect.void,
    })
}

const make = Effect.fnUntraced(function* ({ managementKey }: KeyStoreOptions) {
  const storage = yield* Storage
  const clock = yield* Effect.clock
  const bootstrap = managementKey && bootstrapKey(managementKey, storage.installation, clock.unsafeCurrentTimeMillis())
  const keys = new StoredKeys(storage, clock, bootstrap)
  // By another process, or by this one, which has done so already.
  yield* storage.shared?.on({ keyChanged: (id, isRevoked) => keys.changed(id, isRevoked) }) ?? Effect.void
  return KeyStore.of({
    authenticate: (secret) => keys.authenticate(secret),
    live: (secret) => keys.live(secret),
    create: (key, actor) => keys.create(key, actor),
    createFirst: (name) => keys.createFirst(name),
    list: (page) => keys.list(page),
    count: (filter) => keys.count(filter),
    read: (id) => keys.read(id),
    update: (id, patch, actor) => keys.update(id, patch, actor),
    rotate: (id, overlapMs, actor) => keys.rotate(id, overlapMs, actor),
    previousEnds: (ids) => keys.previousEnds(ids),
    remove: (id, actor) => keys.remove(id, actor),
    onRevoked: (listener) => keys.onRevoked(listener),
  })
})

/** Keys in `Storage`, and the bootstrap key where there is one. */
class StoredKeys {
  private readonly repository: KeyRepository
  private readonly workspaceId: string
  private readonly reached: ReturnType<typeof orUnavailable>
  private readonly now: () => number
  private readonly bootstrap: KeyRecord | undefined
  private readonly reader: KeyReader
  private readonly listeners = new Set<(id: KeyId) => void>()

  constructor(storage: DataAtRest, clock: Clock.Clock, bootstrap: KeyRecord | undefined) {
    this.repository = storage.keys
    this.workspaceId = storage.installation
    this.reached = orUnavailable("storage", storage)
    this.now = () => clock.unsafeCurrentTimeMillis()
    this.bootstrap = bootstrap
    this.reader = new KeyReader((secret) => this.reached(this.repository.find(secret)), clock)
  }

  authenticate(secret: Redacted.Redacted): Effect.Effect<KeyRecord, KeyNotAccepted | Unavailable> {
    const text = Redacted.value(secret)
    const id = keyId(text)
    const known = this.known(id)
    if (known !== undefined) return Effect.succeed(known)
    // The checksum is public: it spares the database misspelt keys, not attacks.
    return hasChecksum(text) ? this.reader.lookUp(id) : notAccepted
  }

  live(secret: KeyId): Effect.Effect<FoundKey, KeyNotAccepted | Unavailable> {
    const known = this.known(secret)
    return known === undefined ? this.reader.lookUp(secret) : Effect.succeed(known)
  }

  /** The key, if it is in memory and accepted. */
  private known(secret: KeyId): FoundKey | undefined {
    return secret === this.bootstrap?.id ? this.bootstrap : this.reader.usable(secret)
  }

  create(key: NewKey, actor?: Actor): Effect.Effect<CreatedKey, Unavailable> {
    return Effect.suspend(() => {
      const created = newKey(key, this.now(), this.workspaceId)
      return Effect.map(this.reached(this.repository.insert(created.record, this.author(actor))), () => {
        this.reader.drop(created.record.id)
        return created
      })
    })
  }

  createFirst(name: string): Effect.Effect<CreatedKey | undefined, Unavailable> {
    return Effect.suspend(() => {
      const created = newKey({ kind: "management", name }, this.now(), this.workspaceId)
      return Effect.map(this.reached(this.repository.insertFirst(created.record, this.author())), (isFirst) =>
        isFirst ? created : undefined,
      )
    })
  }

  list(page: KeyPage): Effect.Effect<ReadonlyArray<KeyRecord>, Unavailable> {
    return this.reached(this.repository.list(page))
  }

  count(filter: KeyFilter): Effect.Effect<number, Unavailable> {
    return this.reached(this.repository.count(filter))
  }

  /** The key with this id, or with a secret of this hash. */
  read(named: KeyId): Effect.Effect<KeyRecord, Unavailable | NotFound> {
    return Effect.flatMap(this.reader.find(named), (found) => (found === undefined ? noSuchKey : Effect.succeed(found)))
  }

  /** Whether a management key that may do everything has to be left in the storage. */
  private get keepsManager(): boolean {
    return this.bootstrap === undefined
  }

  update(named: KeyId, patch: Omit<KeyPatch, "updatedAt">, actor?: Actor) {
    return Effect.gen(this, function* () {
      const { id } = yield* this.read(named)
      const changes = { ...patch, ...maskedTexts(patch), updatedAt: this.now() }
      const after = yield* this.reached(this.repository.update(id, changes, this.author(actor), this.keepsManager))
      if (after === "last manager") return yield* lastManager
      this.reader.drop(id)
      if (after === undefined) return yield* noSuchKey
      if (after.disabled) this.tellRevoked(id)
      return after
    })
  }

  rotate(named: KeyId, overlapMs: number, actor?: Actor) {
    return Effect.gen(this, function* () {
      const { id, kind } = yield* this.read(named)
      const secret = makeSecret(kind)
      const author = this.author(actor)
      const othersEndAt = author.at + overlapMs
      const added = { id: keyId(secret), label: mask(secret), othersEndAt }
      const record = yield* this.reached(this.repository.rotate(id, added, author))
      this.reader.drop(id)
      if (record === undefined) return yield* noSuchKey
      return { record, secret: Redacted.make(secret), othersEndAt }
    })
  }

  previousEnds(ids: ReadonlyArray<KeyId>): Effect.Effect<ReadonlyMap<KeyId, number>, Unavailable> {
    return Effect.map(this.reached(this.repository.previousEnds(ids)), (ends) => {
      const at = this.now()
      return new Map([...ends].filter(([, end]) => end > at))
    })
  }

  remove(named: KeyId, actor?: Actor) {
    return Effect.gen(this, function* () {
      const { id } = yield* this.read(named)
      const removed = yield* this.reached(this.repository.remove(id, this.author(actor), this.keepsManager))
      if (removed === "last manager") return yield* lastManager
      this.reader.drop(id)
      this.tellRevoked(id)
    })
  }

  onRevoked(listener: (id: KeyId) => void): Effect.Effect<void, never, Scope.Scope> {
    return Effect.acquireRelease(
      Effect.sync(() => this.listeners.add(listener)),
      () => Effect.sync(() => this.listeners.delete(listener)),
    )
  }

  /** A process on the same database has changed it. */
  changed(id: KeyId, isRevoked: boolean): void {
    this.reader.drop(id)
    if (isRevoked) this.tellRevoked(id)
  }

  private tellRevoked(id: KeyId): void {
    for (const listener of this.listeners) listener(id)
  }

  private author(actor: Actor = "gateway"): Author {
    return { actor, at: this.now() }
  }
}

/** What people call a key: they may have taken its secret for that. */
const maskedTexts = ({ name, owner, tags }: Partial<Pick<KeyRecord, "name" | "owner" | "tags">>) => ({
  ...(name === undefined ? {} : { name: withoutKeys(name) }),
  ...(owner == null ? {} : { owner: withoutKeys(owner) }),
  ...(tags === undefined ? {} : { tags: tags.map(withoutKeys) }),
})

/** A key that is not stored yet, and its secret. */
const newKey = (key: NewKey, createdAt: number, workspaceId: string): CreatedKey => {
  const secret = makeSecret(key.kind)
  // Not all of `key`: a caller's object may have more members.
  const settings = Struct.pick(key, ...keyMembers.filter(isSettable))
  const record: KeyRecord = {
    ...unlimitedKey,
    ...defined(settings),
    ...maskedTexts(key),
    id: keyId(secret),
    kind: key.kind,
    role: key.kind === "management" ? (key.role ?? "all") : null,
    label: mask(secret),
    createdAt,
    workspaceId,
  }
  return { record, secret: Redacted.make(secret) }
}

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

const lastManager = new NotPermitted({
  rule: 'This is the last management key with the role "all" that does not expire: make another one first.',
})

const noSuchKey = Effect.fail(new NotFound({ what: "This key" }))

const bootstrapKey = (secret: Redacted.Redacted, workspaceId: string, createdAt: number): KeyRecord => ({
  ...unlimitedKey,
  id: keyId(Redacted.value(secret)),
  kind: "management",
  role: "all",
  name: "HEADGATE_MANAGEMENT_KEY",
  label: mask(Redacted.value(secret)),
  createdAt,
  workspaceId,
})
