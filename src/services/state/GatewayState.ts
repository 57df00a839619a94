/**
 * The state of a gateway, read from its services when somebody asks. Keys and what they have spent are of all
 * processes on the database; the rest is of this process.
 */
import { hostname } from "node:os"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { ProviderRegistry } from "../../catalogue/ProviderRegistry.ts"
import type { HostReason } from "../../domain/failures/HostReason.ts"
import type { EndpointOut } from "../hosts/endpointHealth.ts"
import { HostHealth } from "../hosts/HostHealth.ts"
import { HostStats } from "../hosts/HostStats.ts"
import { ProviderKeys } from "../hosts/ProviderKeys.ts"
import { Meter } from "../money/Meter.ts"
import { InFlight, type InFlightFigures } from "../request/InFlight.ts"
import { type DiskSpace, diskSpaceAt } from "../storage/diskSpace.ts"
import { hindranceText } from "../storage/Outage.ts"
import { type DataAtRest, Storage } from "../storage/Storage.ts"
import type { StorageUnavailable } from "../storage/StorageUnavailable.ts"
import { ConfigFacts, type ConfigInUse } from "./ConfigFacts.ts"
import { type KeyNearLimit, keysNearLimit } from "./keysNearLimit.ts"
import { type ProviderState, providerStates } from "./providerStates.ts"

/** The number of this process among several that are one gateway, from 1; `null`: it is alone. */
export class WorkerNumber extends Context.Reference<WorkerNumber>()("headgate/WorkerNumber", {
  defaultValue: (): number | null => null,
}) {}

interface LedgerState {
  /** Whether paid requests may start. */
  readonly takesRequests: boolean
  /** Why not; `null`: they may. */
  readonly why: string | null
  /** Rows that the database could not take, in memory; `null`: not known. */
  readonly backlogRows: number | null
  /** Such rows on the local disk. */
  readonly spooledRows: number
  /** Unix milliseconds; `null`: this process has booked nothing yet. */
  readonly lastCommitAt: number | null
}

interface OutHost {
  readonly model: string
  /** The tag of the host. */
  readonly host: string
  /** The failure that led to it. */
  readonly reason: HostReason
}

/** A host whose circuit breaker is not closed. */
interface TrippedBreaker extends OutHost {
  /** Its next call is a probe. */
  readonly isHalfOpen: boolean
  /** Unix milliseconds. */
  readonly since: number
}

/** A host that is left alone after a failure. */
interface RestingHost extends OutHost {
  /** Slug. */
  readonly provider: string
  /** Unix milliseconds. */
  readonly until: number
}

export interface GatewayFacts {
  /** Unix milliseconds. */
  readonly startedAt: number
  readonly process: { readonly machine: string; readonly pid: number; readonly worker: number | null }
  /** `isReachable`: it answered within two seconds. */
  readonly storage: { readonly kind: NonNullable<DataAtRest["kind"]> | "other"; readonly isReachable: boolean }
  readonly ledger: LedgerState
  /** `null`: there is none, or it cannot be read. */
  readonly disk: DiskSpace | null
  readonly requests: Pick<InFlightFigures, "running" | "placed" | "places">
  readonly breakers: ReadonlyArray<TrippedBreaker>
  readonly resting: ReadonlyArray<RestingHost>
  /** `null`: the database did not answer in time. */
  readonly keysNearLimit: ReadonlyArray<KeyNearLimit> | null
  /** A sentence each, about the configuration. */
  readonly warnings: ReadonlyArray<string>
  readonly configuration: Pick<ConfigInUse, "file" | "loadedAt">
}

export class GatewayState extends Context.Tag("headgate/GatewayState")<
  GatewayState,
  {
    /** Answers within some seconds, also while the database does not. */
    readonly read: Effect.Effect<GatewayFacts>
    readonly providers: Effect.Effect<ReadonlyArray<ProviderState>>
  }
>() {
  /** `folder`: whose disk is read where the storage has no file; `undefined`: none is. */
  static readonly layer = (folder: string | undefined) => Layer.scoped(GatewayState, make(folder))
}

const make = (folder: string | undefined) =>
  Effect.gen(function* () {
    const storage = yield* Storage
    const meter = yield* Meter
    const health = yield* HostHealth
    const inFlight = yield* InFlight
    const facts = yield* ConfigFacts
    const worker = yield* WorkerNumber
    const clock = yield* Effect.clock
    const startedAt = clock.unsafeCurrentTimeMillis()
    let lastCommitAt: number | null = null
    const booked = (): void => {
      lastCommitAt = clock.unsafeCurrentTimeMillis()
    }
    yield* meter.observe?.({ booked, committed: () => {} }) ?? Effect.void

    const read = Effect.gen(function* () {
      const now = clock.unsafeCurrentTimeMillis()
      // Any query that reads the database.
      const reading = inTime(storage.keys.countManagement())
      const [counted, near, disk] = yield* Effect.all(
        [reading, inTime(keysNearLimit(storage, now)), diskOf(storage, folder)],
        { concurrency: "unbounded" },
      )
      const { file, loadedAt, warnings } = facts.current()
      const { running, placed, places } = inFlight.figures()
      return {
        startedAt,
        process: { machine: hostname(), pid: process.pid, worker },
        storage: { kind: storage.kind ?? ("other" as const), isReachable: counted !== null },
        ledger: ledgerState(meter, storage, lastCommitAt),
        disk,
        requests: { running, placed, places },
        ...outHosts(health.outs?.() ?? [], now),
        keysNearLimit: near,
        warnings,
        configuration: { file, loadedAt },
      }
    })
    return GatewayState.of({ read, providers: yield* makeProviders })
  })

const makeProviders = Effect.gen(function* () {
  const registry = yield* ProviderRegistry
  const storage = yield* Storage
  const providerKeys = yield* ProviderKeys
  const facts = yield* ConfigFacts
  const clock = yield* Effect.clock
  const { providers: failures } = yield* HostStats
  yield* registry.onReplaced(() => failures?.keepOnly(registry.current().providers))
  return Effect.gen(function* () {
    const now = clock.unsafeCurrentTimeMillis()
    const keys = providerKeys.states?.() ?? []
    const spends = keys.length === 0 ? [] : yield* inTime(storage.ledger.providerSpends(now))
    const { providers: notes } = facts.current()
    return providerStates({ resolved: registry.current(), notes, keys, spends, failures, now })
  })
})

const ledgerState = (
  meter: Pick<Meter["Type"], "figures" | "writable">,
  storage: Pick<DataAtRest, "outage" | "spooled">,
  lastCommitAt: number | null,
): LedgerState => {
  const takesRequests = meter.writable()
  return {
    takesRequests,
    why: takesRequests ? null : whyNot(storage),
    backlogRows: meter.figures?.().backlog ?? null,
    spooledRows: storage.spooled?.() ?? 0,
    lastCommitAt,
  }
}

/** `now`: Unix milliseconds. */
const outHosts = (outs: ReadonlyArray<EndpointOut>, now: number): Pick<GatewayFacts, "breakers" | "resting"> => ({
  breakers: outs.flatMap(({ host: { model, tag }, breaker }) =>
    breaker === null
      ? []
      : [{ model, host: tag, reason: breaker.reason, isHalfOpen: breaker.isHalfOpen, since: now - breaker.openMs }],
  ),
  resting: outs.flatMap(({ host: { model, tag, provider }, rest }) =>
    rest === null ? [] : [{ provider, model, host: tag, reason: rest.reason, until: now + rest.waitMs }],
  ),
})

/** Whoever looks at a gateway whose database does not answer must not wait for it. */
const inTime = <A>(answer: Effect.Effect<A, StorageUnavailable>): Effect.Effect<A | null> =>
  Effect.orElseSucceed(Effect.timeout(answer, "2 seconds"), () => null)

const whyNot = ({ outage }: Pick<DataAtRest, "outage">): string =>
  outage?.current === undefined ? "rows wait for the database" : hindranceText(outage.current)

/** The disk of the database's file, else that of `folder`. */
const diskOf = ({ disk }: Pick<DataAtRest, "disk">, folder: string | undefined): Effect.Effect<DiskSpace | null> =>
  disk ?? (folder === undefined ? Effect.succeed(null) : diskSpaceAt(folder))
