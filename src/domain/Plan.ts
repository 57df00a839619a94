/** A routing decision as data: what to try, in which order, and why everything else was left out. */
import type { Exclusion } from "./Failure.ts"
import type { Host } from "./Host.ts"

export interface Plan {
  /** In the order they are tried; never two of the same endpoint. */
  readonly attempts: ReadonlyArray<Host>
  readonly excluded: ReadonlyArray<Exclusion>
  /**
   * Hosts that may not be called now (`HostHealth`), and are tried all the same, because no host of their model may be: at
   * most one of each model.
   */
  readonly probes: ReadonlyArray<Host>
  /** Id of the strategy that ordered the hosts. */
  readonly strategy: string
}
