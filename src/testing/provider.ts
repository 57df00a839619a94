import { answerChecks } from "./answers/answers.ts"
import { errorChecks } from "./answers/errors.ts"
import { failingChecks } from "./answers/failing.ts"
import { identityChecks } from "./answers/identity.ts"
import { streamChecks } from "./answers/streams.ts"
import { unaryChecks } from "./answers/unary.ts"
import { wholeChecks } from "./answers/wholes.ts"
import type { Check } from "./Check.ts"
import { coverageChecks } from "./coverage.ts"
import { gatewayChecks } from "./gateway.ts"
import { hookChecks } from "./hooks.ts"
import { edgeChecks } from "./requests/edges.ts"
import { factChecks } from "./requests/facts.ts"
import { fidelityChecks } from "./requests/fidelity.ts"
import { meaningChecks } from "./requests/meaning.ts"
import { requestChecks } from "./requests/requests.ts"
import { loadedAhead, type ProviderSubject, protocolSubjects } from "./subject.ts"
import { uncoveredChecks } from "./uncovered/notCovered.ts"

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
      ...fidelityChecks(protocol),
      ...edgeChecks(protocol),
      ...answerChecks(protocol),
      ...wholeChecks(protocol),
      ...streamChecks(protocol),
      ...identityChecks(protocol),
      ...failingChecks(protocol),
      ...gatewayChecks(protocol),
      ...coverageChecks(protocol),
    ]),
    ...hookChecks(subject),
    ...unaryChecks(subject),
    ...errorChecks(subject),
    ...uncoveredChecks(given),
  ]
}
