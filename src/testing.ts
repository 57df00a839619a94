/** What tests of plugins import: `headgate/testing`. Checks of a plugin against the contract, for any test runner. */
export type { Check } from "./testing/check.ts"
export { readMessagesStream } from "./testing/grammar/messages.ts"
export { readResponsesStream } from "./testing/grammar/responses.ts"
export { providerChecks } from "./testing/provider.ts"
export { type StrategySubject, strategyChecks } from "./testing/strategy.ts"
export type { ProviderSubject, StreamSample } from "./testing/subject.ts"
