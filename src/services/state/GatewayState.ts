/**
 * The state of a gateway, read from its services when somebody asks. What stands in the database is of all processes that share it; the rest
 * is of this process.
 */
import { statfs } from "node:fs/promises"
import { hostname } from "node:os"
import { dirname } from "node:path"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { ProviderRegistry } from "../../catalogue/ProviderRegistry.ts"
import { HostHealth } from "../hosts/HostHealth.ts"
import { ProviderKeys } from "../hosts/ProviderKeys.ts"
import { Meter } from "../money/Meter.ts"
import { InFlight } from "../request/InFlight.ts"
import { RequestEnds } from "../request/RequestEnds.ts"
import { hindranceText } from "../storage/Outage.ts"
import { type DataAtRest, Storage } from "../storage/Storage.ts"
import type { StorageUnavailable } from "../storage/StorageUnavailable.ts"
import { ConfigFacts } from "./ConfigFacts.ts"
import { keysNearLimit } from "./keysNearLimit.ts"
import { ProviderTally } from "./ProviderTally.ts"
import { type ProviderState, providerStates } from "./providerStates.ts"

/** The number of this process among several that are one gateway, from 1; `null`: it is alone. */
export class WorkerNumber extends Context.Reference<WorkerNumber>()("headgate/WorkerNumber", {
  defaultValue: (): number | null => null,
}) {}

const make = (folder: string | undefined) =>
  Effect.gen(function* () {
    const registry = yield* ProviderRegistry
    const storage = yield* Storage
    const meter = yield* Meter
    const health = yield* HostHealth
    const providerKeys = yield* ProviderKeys
    const inFlight = yield* InFlight
    const facts = yield* ConfigFacts
    const worker = yield* WorkerNumber
    const clock = yield* Effect.clock
    const startedAt = clock.unsafeCurrentTimeMillis()
    const tally = new ProviderTally()
    yield* registry.onReplaced(() => tally.keepOnly(registry.current().providers))
    yield* (yield* RequestEnds).subscribe(tally.observe, "never")
    let lastCommitAt: number | null = null
    const booked = (): void => {
      lastCommitAt = clock.unsafeCurrentTimeMillis()
    }
    yield* meter.observe?.({ booked, committed: () => {} }) ?? Effect.void

    const ledger = () => {
      const { backlog = null } = meter.figures?.() ?? {}
      const takesRequests = meter.writable()
      return {
        takesRequests,
        why: takesRequests ? null : whyNot(storage),
        backlogRows: backlog,
        spooledRows: storage.spooled?.() ?? 0,
        lastCommitAt,
      }
    }

    const outs = (now: number) => {
      const all = health.outs?.() ?? []
      return {
        breakers: all.flatMap(({ host: { model, tag }, breaker }) =>
          breaker === null ? [] : [{ ...breaker, model, host: tag, since: now - breaker.openMs }],
        ),
        resting: all.flatMap(({ host: { model, tag, provider }, rest }) =>
          rest === null ? [] : [{ reason: rest.reason, model, host: tag, provider, until: now + rest.waitMs }],
        ),
      }
    }

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
        ledger: ledger(),
        disk,
        requests: { running, placed, places },
        ...outs(now),
        keysNearLimit: near,
        warnings,
        configuration: { file, loadedAt },
      }
    })

    const providers: Effect.Effect<ReadonlyArray<ProviderState>> = Effect.gen(function* () {
      const now = clock.unsafeCurrentTimeMillis()
      const keys = providerKeys.states?.() ?? []
      const spends = keys.length === 0 ? [] : yield* inTime(storage.ledger.providerSpends(now))
      const { providers: notes } = facts.current()
      return providerStates({ resolved: registry.current(), notes, keys, spends, tally, now })
    })

    return { read, providers }
  })

export class GatewayState extends Context.Tag("headgate/GatewayState")<
  GatewayState,
  Effect.Effect.Success<ReturnType<typeof make>>
>() {
  /** `folder`: its disk is told of where the storage has no file; `undefined`: no disk is. */
  static readonly layer = (folder: string | undefined) => Layer.scoped(GatewayState, make(folder))
}

/** Those who look at a gateway whose database does not answer must not wait for it. */
const inTime = <A>(answer: Effect.Effect<A, StorageUnavailable>): Effect.Effect<A | null> =>
  Effect.orElseSucceed(Effect.timeout(answer, "2 seconds"), () => null)

const whyNot = ({ outage }: Pick<DataAtRest, "outage">): string =>
  outage?.current === undefined ? "rows wait for the database" : hindranceText(outage.current)

interface DiskSpace {
  readonly freeBytes: number
  readonly totalBytes: number
}

/** The disk of the database's file, else that of `folder`. */
const diskOf = ({ where }: Pick<DataAtRest, "where">, folder: string | undefined): Effect.Effect<DiskSpace | null> => {
  const path = where?.()["path"]
  const place = typeof path === "string" ? dirname(path) : folder
  if (place === undefined) return Effect.succeed(null)
  const read = Effect.map(
    Effect.tryPromise(() => statfs(place)),
    ({ bavail, bsize, blocks }) => ({ freeBytes: bavail * bsize, totalBytes: blocks * bsize }),
  )
  // A folder may be made only when it is first needed, and a disk on the network may not answer.
  return Effect.orElseSucceed(Effect.timeout(read, "2 seconds"), () => null)
}
