/** For processes whose keys have no rate limit. */
import * as Effect from "effect/Effect"
import type { RateShareRepository } from "../../../src/services/storage/SharedRepositories.ts"

const unused = () => Effect.dieMessage("no key has a rate limit")

export const unusedRates: RateShareRepository = { take: unused, giveBack: unused, want: unused, prune: Effect.void }
