import { answerChecks } from "./answers.ts"
import type { Check } from "./check.ts"
import { coverageChecks } from "./coverage.ts"
import { errorChecks } from "./errors.ts"
import { factChecks } from "./facts.ts"
import { gatewayChecks } from "./gateway.ts"
import { hookChecks } from "./hooks.ts"
import { meaningChecks } from "./meaning.ts"
import { requestChecks } from "./requests.ts"
import { streamChecks } from "./streams.ts"
import { loadedAhead, type ProviderSubject, protocolSubjects } from "./subject.ts"
import { unaryChecks } from "./unary.ts"
import { wholeChecks } from "./wholes.ts"

/**
 * What every provider plugin must do, as checks for any test runner:
 *
 *     for (const check of await providerChecks({ plugin, config, answer, streams })) test(check.name, check.run)
 *
 * This loads the plugin to know its protocols, so environment variables that its configuration names have to be set.
 */
export const providerChecks = async (given: ProviderSubject): Promise<ReadonlyArray<Check>> => {
  const subject = await loadedAhead(given)
  return [
    ...factChecks(subject),
    ...protocolSubjects(subject).flatMap((protocol) => [
      ...requestChecks(protocol),
      ...meaningChecks(protocol),
      ...answerChecks(protocol),
      ...wholeChecks(protocol),
      ...streamChecks(protocol),
      ...gatewayChecks(protocol),
      ...coverageChecks(protocol),
    ]),
    ...hookChecks(subject),
    ...unaryChecks(subject),
    ...errorChecks(subject),
  ]
}
