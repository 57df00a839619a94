/**
 * What plugin authors import: `headgate/plugin`. A plugin imports this and `effect/*`, nothing else of the gateway.
 *
 * A vendor that speaks the chat completion protocol is `chatHost` with its facts. Any other provider is
 * `defineProvider` around one or more protocols: `chatProtocol`, `messagesProtocol` and `responsesProtocol` for hosts
 * that speak one of those, else a `Protocol` of its own, which translates the canonical form of `ChatRequest`,
 * `ChatResponse` and `ChatChunk`. For models that make vectors or rank documents it has `embeddings` and `rerank`. A
 * strategy is `defineStrategy` around a `Rank`.
 */

export { HostFailed, type HostFailedChanges, Unsupported } from "./domain/failures/Failure.ts"
export type { HostReason } from "./domain/failures/HostReason.ts"
export { baseModelOf, type Host } from "./domain/hosts/Host.ts"
export type {
  ListedHost,
  ListedModel,
  ListedPriceOverride,
  ListedPrices,
  ListedPricing,
  ListedReasoning,
  Usd,
} from "./domain/hosts/ListedModel.ts"
export type { ModelLimits } from "./domain/hosts/modelLimits.ts"
export { isJsonObject, type JsonObject, objectIn, objectsIn, textOr } from "./domain/json/json.ts"
export type { CacheMultipliers } from "./domain/price/CacheMultipliers.ts"
export { formatUsd, type Picodollars } from "./domain/price/money.ts"
export { costOf, discountsCacheReads, type Pricing, sortPrice } from "./domain/price/price.ts"
export { noUsage, type Usage } from "./domain/price/Usage.ts"
export type {
  Annotation,
  AssistantMessage,
  AudioPart,
  CacheControl,
  ChatChoice,
  ChatChunk,
  ChatChunkChoice,
  ChatDelta,
  ChatMessage,
  ChatPayload,
  ChatResponse,
  ChatUsage,
  Content,
  ContentPart,
  FilePart,
  FinishReason,
  FunctionTool,
  HostTool,
  HostToolCall,
  ImagePart,
  Message,
  OutputImage,
  ReasoningDetail,
  RefusalPart,
  ResponseFormat,
  SystemMessage,
  TextPart,
  Tool,
  ToolCall,
  ToolCallDelta,
  ToolChoice,
  ToolMessage,
  UserMessage,
  VideoPart,
} from "./domain/request/chat.ts"
export { chatMembers } from "./domain/request/chatMembers.ts"
export {
  type Embedding,
  type EmbeddingInput,
  type EmbeddingPart,
  type EmbeddingsPayload,
  type EmbeddingsRequest,
  type EmbeddingsResponse,
  inputsOf,
  isVector,
} from "./domain/request/embeddings.ts"
export { tokensIn } from "./domain/request/estimate.ts"
export type { Preferences } from "./domain/request/Preferences.ts"
export {
  type Bounds,
  type ChatRequest,
  type Effort,
  type NativeRequest,
  type Reasoning,
  type Routing,
  routerOnly,
} from "./domain/request/request.ts"
export type {
  RerankDocument,
  RerankPayload,
  RerankRequest,
  RerankResponse,
  RerankResult,
} from "./domain/request/rerank.ts"
export type { Percentile } from "./domain/request/Thresholds.ts"
export { callIdOf, callIdWithin, newCallId } from "./formats/callId.ts"
export type { AskedReasoning, ChatQuirks } from "./formats/chat/ChatQuirks.ts"
export { chatProtocol } from "./formats/chat/chatHost.ts"
export {
  argumentsObject,
  base64Of,
  calledNames,
  type DataUrl,
  imageTypeOf,
  partsOf,
  readDataUrl,
  textOf,
  textOfDataUrl,
} from "./formats/content.ts"
export {
  type AssistantPart,
  type OrderedParts,
  partOrder,
  partsInOrder,
  type Said,
  saidInOrder,
} from "./formats/conversation.ts"
export { withFunctions } from "./formats/customTools.ts"
export { answerFrom, chunkOf } from "./formats/delta.ts"
export { effortFor, type ReasoningWish, reasoningWish, tokensFor } from "./formats/effort.ts"
export { type EmbeddingsQuirks, embeddingsProtocol } from "./formats/embeddings/embeddingsHost.ts"
export { errorInBody, type HostReasons, httpError, httpErrorWith, malformed } from "./formats/httpError.ts"
export { betasFor, type MessagesCloud } from "./formats/messages/messagesClouds.ts"
export { type MessagesOptions, type MessagesProtocol, messagesProtocol } from "./formats/messages/messagesHost.ts"
export { exactSchema } from "./formats/messages/messagesSchema.ts"
export { type Thinking, type ThinkingKind, thinkingFor, thinkingOfClaude } from "./formats/messages/messagesThinking.ts"
export {
  type AnswerContext,
  type Decoder,
  type EmbeddingsProtocol,
  type Encoded,
  type Framing,
  jsonBody,
  type NativeProtocol,
  type Protocol,
} from "./formats/Protocol.ts"
export {
  lostOfMessages,
  lostStrict,
  type OfferedTools,
  offeredTools,
  withPlainTools,
} from "./formats/plainTools.ts"
export { type BlockWriter, type Conversation, type Turn, turnsOf } from "./formats/request/turns.ts"
export { type RerankProtocol, type RerankQuirks, rerankProtocol } from "./formats/rerank/rerankHost.ts"
export type { ResponsesQuirks } from "./formats/responses/ResponsesQuirks.ts"
export { responsesForTools, responsesProtocol } from "./formats/responses/responsesHost.ts"
export { type ChatHost, chatHost } from "./plugin/chatHost.ts"
export { modelsIn } from "./plugin/modelsIn.ts"
export type { PluginContext, PluginFields, PluginLog } from "./plugin/PluginLog.ts"
export {
  type Auth,
  authHeader,
  bearer,
  type Credentials,
  contractVersion,
  defineProvider,
  type ListModels,
  noAuth,
  type Provider,
  type ProviderDefinition,
  type ProviderPlugin,
  type SideAnswer,
  type SideRequest,
  type SignContext,
  type VendorHost,
} from "./plugin/Provider.ts"
export { healthClass, rankBy, rankByHash } from "./plugin/rankBy.ts"
export { Secret } from "./plugin/Secret.ts"
export { type ServerListing, serverListing } from "./plugin/serverListing.ts"
export {
  type BudgetView,
  type CallerView,
  type Candidate,
  type ConversationView,
  defineStrategy,
  type HostSnapshot,
  type Rank,
  type RankContext,
  type Reasons,
  type ServedPrompt,
  type StrategyDefinition,
  type StrategyPlugin,
  unknownCaller,
  unknownConversation,
  unlimitedBudget,
  unseenHost,
  type Why,
} from "./plugin/strategy.ts"
export type { ResponseHead, ResponseHeaders } from "./wire/head.ts"
