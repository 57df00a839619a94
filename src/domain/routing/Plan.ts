/** A routing decision as data: what to try, in which order, and why everything else was left out. */
import type { Exclusion } from "../failures/Exclusion.ts"
import type { Host } from "../hosts/Host.ts"
import type { Bounds } from "../request/request.ts"
import type { Adjustment } from "./variants.ts"

/** A host that the budget does not cover. */
export interface Unaffordable {
  readonly host: Host
  /** What the variant in the model's name changes in the request. */
  readonly adjustment: Adjustment | undefined
  /** The bounds by which the plan left it out. Absent: it was in the plan, and left out when the body was there that it is sent. */
  readonly bounds?: Bounds
}

export interface Plan {
  /** In the order they are tried; never two of the same endpoint. */
  readonly attempts: ReadonlyArray<Host>
  readonly excluded: ReadonlyArray<Exclusion>
  /**
   * Hosts that may not be called now (`HostHealth`), and are tried all the same, because no host of their model may be: at
   * most one of each model.
   */
  readonly probes: ReadonlyArray<Host>
  /** Id of the strategy that ordered the hosts of the first model, or `order` where the caller's own order did. */
  readonly strategy: string
  /** A 32-bit unsigned integer: every random draw of the plan comes from `randomSequence(seed)`. */
  readonly seed: number
  /** Names of the models as the caller wrote them. */
  readonly requested: ReadonlyArray<string>
  /** What the variants of the models' names change in the request; absent when they change nothing. */
  readonly adjustments?: ReadonlyMap<Host, Adjustment | undefined>
  /** Hosts that it leaves out for the budget alone. Absent: none. */
  readonly unaffordable?: ReadonlyArray<Unaffordable> | undefined
}
