/** Door for plugin authors: `headgate/plugin`. A plugin imports this and `effect/*`, nothing else of the house. */
export type {
  ChatChoice,
  ChatChunk,
  ChatChunkChoice,
  ChatDelta,
  ChatMessage,
  ChatRequest,
  ChatResponse,
  FinishReason,
} from "./domain/Chat.ts"
export { HostFailed, type HostReason } from "./domain/Failure.ts"
export type { Host } from "./domain/Host.ts"
export { isJsonObject, type JsonObject } from "./domain/Json.ts"
export {
  type Auth,
  authHeader,
  bearer,
  defineProvider,
  noAuth,
  type Operations,
  type Provider,
  type ProviderPlugin,
} from "./plugin/Provider.ts"
export { Secret } from "./plugin/Secret.ts"
export {
  type Candidate,
  defineStrategy,
  type Rank,
  type RankContext,
  type Seen,
  type StrategyPlugin,
} from "./plugin/Strategy.ts"
export type { ChatQuirks } from "./wire/chat/quirks.ts"
export { chatForm } from "./wire/chat.ts"
export type { Decoder, Framing, UpstreamRequest, WireForm } from "./wire/Form.ts"
export { httpError } from "./wire/httpError.ts"
export { messagesForm } from "./wire/messages.ts"
