/** The loop over the hosts of a plan with the services that it uses, and no network: the test answers for the hosts. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import { ProviderRegistry } from "../../../src/catalogue/ProviderRegistry.ts"
import type { ResolvedConfig } from "../../../src/catalogue/ResolvedConfig.ts"
import type { HostFailed } from "../../../src/domain/failures/Failure.ts"
import { HedgeBudget } from "../../../src/domain/hosts/HedgeBudget.ts"
import type { Host } from "../../../src/domain/hosts/Host.ts"
import { RetryBudget } from "../../../src/domain/hosts/RetryBudget.ts"
import type { KeyRecord } from "../../../src/domain/keys/key.ts"
import type { AnyRequest } from "../../../src/domain/request/operations.ts"
import type { Plan } from "../../../src/domain/routing/Plan.ts"
import type { Attempt } from "../../../src/services/dispatch/Attempt.ts"
import type { Begun, CallListener } from "../../../src/services/dispatch/AttemptStart.ts"
import { makeEndAttempt } from "../../../src/services/dispatch/EndAttempt.ts"
import { Failover } from "../../../src/services/dispatch/Failover.ts"
import { ReadingOn } from "../../../src/services/dispatch/ReadingOn.ts"
import { HostHealth } from "../../../src/services/hosts/HostHealth.ts"
import { HostStats } from "../../../src/services/hosts/HostStats.ts"
import { ProviderKeys } from "../../../src/services/hosts/ProviderKeys.ts"
import { RequestLimits } from "../../../src/services/keys/RequestLimits.ts"
import { Meter } from "../../../src/services/money/Meter.ts"
import { monotonic, type RequestContext } from "../../../src/services/request/RequestContext.ts"
import { Timers } from "../../../src/services/request/Timers.ts"
import { Storage } from "../../../src/services/storage/Storage.ts"
import { sampleKey } from "../../sql/samples.ts"
import { servicesOf } from "../clocks/services.ts"
import { requestWith } from "../recordings/recordings.ts"
import { lastingStorage } from "../storage/lastingStorage.ts"
import { requestContext } from "./requestContext.ts"

interface Answered<A> {
  readonly answer: A
  readonly attempt: Attempt
}

/** Carries a plan out, with calls of the test's own. */
class Asked<A extends object> extends Failover<A, Answered<A>> {
  private readonly onCall: (begun: Begun, listener: CallListener<A>) => void

  constructor(
    onCall: (begun: Begun, listener: CallListener<A>) => void,
    ...asked: ConstructorParameters<typeof Failover<A, Answered<A>>>
  ) {
    super(...asked)
    this.onCall = onCall
  }

  override call(begun: Begun, listener: CallListener<A>): void {
    this.onCall(begun, listener)
  }

  protected override accept(answer: A, attempt: Attempt): void {
    this.succeed({ answer, attempt })
  }
}

/** `retries`: extra attempts, as a share of the requests. */
export const trying = async (resolved: ResolvedConfig, retries = Number.POSITIVE_INFINITY) => {
  const base = Layer.merge(ProviderRegistry.layer(resolved), lastingStorage)
  const layer = Layer.mergeAll(
    ...([HostHealth.layer, HostStats.layer, ProviderKeys.layer] as const),
    ...([RequestLimits.layer, Meter.layer, Timers.layer] as const),
  ).pipe(Layer.provideMerge(base))
  const services = await servicesOf(layer)
  const { get, run, runner, clock } = services
  const [registry, meter, health, keys, stats] = [
    ...[get(ProviderRegistry), get(Meter), get(HostHealth), get(ProviderKeys), get(HostStats)],
  ] as const
  const parts = {
    ...{ registry, meter, health, keys, stats, runner },
    limits: get(RequestLimits),
    timers: get(Timers),
    client: {
      signed: (_endpoint: unknown, encoded: Begun["encoded"]) => Effect.succeed(encoded),
      send: () => {
        throw new Error("there is no network")
      },
    },
    log: (line: Effect.Effect<void>) => void runner.run(line, () => {}),
    endAttempt: await run(makeEndAttempt),
    retries: new RetryBudget(retries),
    hedges: new HedgeBudget(0),
    readingOn: new ReadingOn(),
  }
  const hosts = resolved.models.flatMap((model) => model.hosts)
  const nowMs = monotonic(clock)

  const plan = (attempts: ReadonlyArray<Host> = hosts, more: Partial<Plan> = {}): Plan => ({
    attempts,
    ...{ excluded: [], probes: [], strategy: "price", seed: 1, requested: ["acme/small"] },
    ...more,
  })

  /** Tags of the hosts that were called, in their order, and the key of each call where its provider has several. */
  const called: Array<string> = []

  /** What the request comes to: the answer, or the failure of the request. Throws on a defect. */
  const askBy = <A extends object>(
    onCall: (begun: Begun, listener: CallListener<A>) => void,
    asked: { readonly context?: RequestContext; readonly plan?: Plan; readonly request?: AnyRequest } = {},
  ) => {
    const { context = newContext(), request = requestWith({}) } = asked
    const counted = (begun: Begun, listener: CallListener<A>) => {
      const { host, key } = begun.attempt
      called.push(key === undefined ? host.tag : `${host.tag} ${key.key.label}`)
      onCall(begun, listener)
    }
    return new Promise<A | { readonly _tag: string }>((resolve, reject) =>
      runner.run(new Asked(counted, parts, context, request, asked.plan ?? plan()), (exit) => {
        if (Exit.isSuccess(exit)) {
          parts.endAttempt.unused(exit.value.attempt)
          resolve(exit.value.answer)
        } else if (exit.cause._tag === "Fail") resolve(exit.cause.error)
        else reject(new Error(String(exit.cause)))
      }),
    )
  }

  /** The same with what a host answers as an effect. */
  const ask = <A extends object>(
    answer: (host: Host, begun: Begun) => Effect.Effect<A | HostFailed>,
    asked: Parameters<typeof askBy>[1] = {},
  ) =>
    askBy<A>((begun, listener) => {
      runner.run(answer(begun.attempt.host, begun), (exit) => {
        if (Exit.isFailure(exit)) throw new Error(String(exit.cause))
        listener.answered(begun, exit.value)
      })
    }, asked)

  const newContext = (key: KeyRecord = sampleKey("a key")): RequestContext => requestContext(key, {}, nowMs)

  return {
    ...services,
    ...parts,
    ...{ hosts, plan, ask, askBy, called, newContext },
    storage: get(Storage),
    reserved: (key: KeyRecord) => run(Effect.map(meter.spent(key.id), (spent) => spent.reserved)),
  }
}
