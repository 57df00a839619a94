/** Which hosts count as free, so that the limits of `billing.free_models` hold for their requests. */
import type { Host } from "../hosts/Host.ts"
import { hostFacts } from "../hosts/hostFacts.ts"

/**
 * Whether a request to this host counts as one to a free model: the model's id ends in `:free`, or nothing costs anything
 * there and the provider is not on the operator's own network. A host without known prices is not free.
 */
export const countsAsFree = (host: Host): boolean =>
  host.model.endsWith(":free") || (!host.local && hostFacts(host).costsNothing)
