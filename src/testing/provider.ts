import { answerChecks } from "./answers.ts"
import type { Check } from "./check.ts"
import { errorChecks } from "./errors.ts"
import { factChecks } from "./facts.ts"
import { houseChecks } from "./house.ts"
import { requestChecks } from "./requests.ts"
import { streamChecks } from "./streams.ts"
import { formSubjects, type ProviderSubject } from "./subject.ts"

/**
 * What every provider plugin has to fulfil, as checks for any test runner:
 *
 *     for (const check of providerChecks({ plugin, config, answer, streams })) test(check.name, check.run)
 *
 * The plugin is loaded here, to know its operations: variables that its configuration names have to be set before.
 */
export const providerChecks = (subject: ProviderSubject): ReadonlyArray<Check> => [
  ...factChecks(subject),
  ...formSubjects(subject).flatMap((form) => [
    ...requestChecks(form),
    ...answerChecks(form),
    ...streamChecks(form),
    ...houseChecks(form),
  ]),
  ...errorChecks(subject),
]
