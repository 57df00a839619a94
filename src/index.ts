/** The public API for embedders: `headgate`. docs/embedding.md shows it in use. */

export * as Gateway from "./app/embedding.ts"
export { ProviderRegistry } from "./catalogue/ProviderRegistry.ts"
export { defineConfig, type GatewayConfig, type GatewayConfigInput } from "./config/GatewayConfig.ts"
export type { Failure } from "./domain/failures/Failure.ts"
export {
  BadRequest,
  KeyNotAccepted,
  NoHostMatches,
  NotFound,
  NotPermitted,
  PaymentRequired,
  RateLimited,
  Unavailable,
} from "./domain/failures/Failure.ts"
export type { Host, Model } from "./domain/hosts/Host.ts"
export { HostTag, KeyId, ModelId } from "./domain/ids.ts"
export { ConfigInvalid, type Problem } from "./domain/json/Problem.ts"
export { type KeyRecord, unlimitedKey } from "./domain/keys/key.ts"
export {
  type LimitReset,
  limitResets,
  nextReset,
  type Spend,
  spentInWindow,
  windowStart,
} from "./domain/keys/limitWindows.ts"
export type { Charge } from "./domain/money/Charge.ts"
export type { BudgetSnapshot } from "./domain/money/reservation.ts"
export { formatUsd, type Picodollars, parseUsd, picodollarsPerUsd, roundUsd, toUsd } from "./domain/price/money.ts"
export type { PriceVersion } from "./domain/price/PriceVersion.ts"
export { type Cost, costOf, freePricing, type Pricing } from "./domain/price/price.ts"
export { noUsage, parseUsage, type Usage } from "./domain/price/Usage.ts"
export type { Plan } from "./domain/routing/Plan.ts"
export type { RateLimit } from "./domain/structures/SlidingWindow.ts"
export { discover, type Plugin } from "./plugin/loading/discover.ts"
export { Dispatcher } from "./services/dispatch/Dispatcher.ts"
export { HostHealth } from "./services/hosts/HostHealth.ts"
export { HostStats } from "./services/hosts/HostStats.ts"
export { type CreatedKey, KeyStore, type KnownKey, type NewKey } from "./services/keys/KeyStore.ts"
export { type Collector, counterOf, family } from "./services/metrics/Family.ts"
export { Metrics } from "./services/metrics/Metrics.ts"
export { type Account, Meter } from "./services/money/Meter.ts"
export type { Reservation, Settlement } from "./services/money/Reservation.ts"
export type { RequestContext } from "./services/request/RequestContext.ts"
export { type DetailNeed, type RequestEnd, RequestEnds, type RequestObserver } from "./services/request/RequestEnds.ts"
export { Timers } from "./services/request/Timers.ts"
export { type ExplainedPlan, Router } from "./services/routing/Router.ts"
export type { LedgerRow, NewRow } from "./services/storage/ledger.ts"
export { type KeyPatch, Storage } from "./services/storage/Storage.ts"
export { StorageUnavailable } from "./services/storage/StorageUnavailable.ts"
export type { PostgresOpening, SqliteOpening } from "./sql/opening.ts"
export { layer as postgresStorage } from "./sql/postgres/PostgresStorage.ts"
export { StorageNotOpened } from "./sql/StorageNotOpened.ts"
export { layer as memoryStorage } from "./sql/sqlite/MemoryStorage.ts"
export { layer as sqliteStorage } from "./sql/sqlite/SqliteStorage.ts"
export type { UpstreamCall } from "./upstream/Exchange.ts"
export { Upstream } from "./upstream/Upstream.ts"
