/** For processes whose keys have no rate limit, and of which nobody asks what runs. */
import * as Effect from "effect/Effect"
import type { LiveRepository, RateShareRepository } from "../../../src/services/storage/SharedRepositories.ts"

const unused = () => Effect.dieMessage("no key has a rate limit")

export const unusedRates: RateShareRepository = { take: unused, giveBack: unused, want: unused, prune: Effect.void }

const unasked = () => Effect.dieMessage("nobody asks what runs")

export const unaskedLive: LiveRepository = { ask: unasked, answer: unasked, answers: unasked, close: unasked }
