/** The public API for embedders: `headgate`. docs/embedding.md shows it in use. */
export { defineConfig, type GatewayConfig, type GatewayConfigInput } from "./config/GatewayConfig.ts"
export type { Charge } from "./domain/Charge.ts"
export type { Failure } from "./domain/Failure.ts"
export {
  BadRequest,
  KeyNotAccepted,
  NoHostMatches,
  NotFound,
  NotPermitted,
  PaymentRequired,
  RateLimited,
  Unavailable,
} from "./domain/Failure.ts"
export type { BudgetSnapshot } from "./domain/Hold.ts"
export type { Host, Model } from "./domain/Host.ts"
export { HostTag, KeyId, ModelId } from "./domain/Ids.ts"
export {
  type KeyRecord,
  type LimitReset,
  limitResets,
  nextReset,
  type Spend,
  spentInWindow,
  unlimitedKey,
  windowStart,
} from "./domain/Key.ts"
export { formatUsd, type Picodollars, parseUsd, picodollarsPerUsd, roundUsd, toUsd } from "./domain/Money.ts"
export type { Plan } from "./domain/Plan.ts"
export { type Cost, costOf, freePricing, type Pricing } from "./domain/Price.ts"
export type { PriceVersion } from "./domain/PriceVersion.ts"
export { ConfigInvalid, type Problem } from "./domain/Problem.ts"
export type { RateLimit } from "./domain/SlidingWindow.ts"
export { noUsage, parseUsage, type Usage } from "./domain/Usage.ts"
export * as Gateway from "./embedding.ts"
export { discover, type Plugin } from "./plugin/discover.ts"
export { Dispatcher } from "./services/Dispatcher.ts"
export { HostHealth } from "./services/HostHealth.ts"
export { HostStats } from "./services/HostStats.ts"
export type { Hold, Settlement } from "./services/heldMoney.ts"
export { type CreatedKey, KeyStore, type KnownKey, type NewKey } from "./services/KeyStore.ts"
export { type KeyPatch, type LedgerRow, type NewRow, StorageUnavailable } from "./services/ledger.ts"
export { type Account, Meter } from "./services/Meter.ts"
export { ProviderRegistry } from "./services/ProviderRegistry.ts"
export type { RequestContext } from "./services/RequestContext.ts"
export { type ExplainedPlan, Router } from "./services/Router.ts"
export { Storage } from "./services/Storage.ts"
export { Timers } from "./services/Timers.ts"
export { layer as memoryStorage } from "./sql/MemoryStorage.ts"
export type { PostgresOpening, SqliteOpening } from "./sql/Opening.ts"
export { layer as postgresStorage } from "./sql/PostgresStorage.ts"
export { layer as sqliteStorage } from "./sql/SqliteStorage.ts"
export { StorageNotOpened } from "./sql/StorageNotOpened.ts"
export type { UpstreamCall } from "./upstream/exchange.ts"
export { Upstream } from "./upstream/Upstream.ts"
