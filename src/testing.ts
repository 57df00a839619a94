/**
 * What tests of plugins import: `headgate/testing`. Checks of a plugin against the contract, for any test runner,
 * readers of streams that throw where a gateway's stream breaks the grammar of its form, and what a ranking gets in a test of a strategy.
 */
export type { Check } from "./testing/Check.ts"
export type { Expected, ExpectedCall, ExpectedFailure, Lack } from "./testing/Expected.ts"
export { eventStreamEvent, eventStreamMessage } from "./testing/eventStream.ts"
export { readChatStream } from "./testing/grammar/chat.ts"
export { readCompletionsStream } from "./testing/grammar/completions.ts"
export { readGenerateContentStream } from "./testing/grammar/generateContent.ts"
export { readMessagesStream } from "./testing/grammar/messages.ts"
export { readResponsesStream } from "./testing/grammar/responses.ts"
export { providerChecks } from "./testing/provider.ts"
export { type SampleHost, sampleCandidate, sampleContext } from "./testing/sampleRanking.ts"
export { type StrategySubject, strategyChecks } from "./testing/strategy.ts"
export type {
  AnswerSample,
  EmbeddingsSample,
  ErrorSample,
  ProviderSubject,
  RerankSample,
  StreamSample,
} from "./testing/subject.ts"
export { notCovered } from "./testing/uncovered/notCovered.ts"
export type { NotCovered } from "./testing/uncovered/Row.ts"
