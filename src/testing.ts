/** Door for tests of plugins: `headgate/testing`. Checks that hold a plugin to the contract, bound to no test runner. */
export type { Check } from "./testing/check.ts"
export { providerChecks } from "./testing/provider.ts"
export { type StrategySubject, strategyChecks } from "./testing/strategy.ts"
export type { ProviderSubject, StreamSample } from "./testing/subject.ts"
