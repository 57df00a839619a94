/**
 * What an author writes in `headgate.config.ts`, as editors show it. Made by `scripts/configSchema.ts` of the Schema in
 * `GatewayConfig.ts`: what is to be changed is changed there.
 */
import type { ModelInput } from "../catalogue/schema.ts"
import type { JsonObject } from "../domain/json/json.ts"
import type { Plugin } from "../plugin/loading/discover.ts"

export interface MetricsInput {
  /**
   * Whether figures are counted. `false`: nothing is, and there is no `/metrics`.
   * @default true
   */
  readonly enabled?: boolean | undefined
  /**
   * TCP port of a listener for `/metrics` alone, 0 to 65535; 0: any free one. Default: `/metrics` is on `server.port`.
   * @default null
   */
  readonly port?: number | null | undefined
  /**
   * Address of that listener. Without a port of its own it has no effect.
   * @default "127.0.0.1"
   */
  readonly hostname?: string | undefined
  /**
   * Whether anybody may read `/metrics`: models, hosts and spend. Otherwise it needs a management key or `HEADGATE_METRICS_TOKEN`.
   * @default false
   */
  readonly open?: boolean | undefined
  /**
   * How many keys `/metrics` names with their remaining budget, 0 to 200: the newest ones that have a limit.
   * @default 0
   */
  readonly budget_keys?: number | undefined
}

export interface ServerInput {
  /**
   * Address to listen on: 127.0.0.1 is this machine alone, 0.0.0.0 every network.
   * @default "127.0.0.1"
   */
  readonly hostname?: string | undefined
  /**
   * TCP port, 0 to 65535; 0: any free one.
   * @default 8787
   */
  readonly port?: number | undefined
  /**
   * Processes that share the port, 1 to 64. More than one need PostgreSQL and Linux.
   * @default 1
   */
  readonly workers?: number | undefined
  /**
   * Proxies in front of the gateway whose word on the caller's address is taken: their addresses or ranges (CIDR), or how many of them every request passes, 0 to 100 (docs/deployment.md).
   * @default []
   */
  readonly trusted_proxies?: number | ReadonlyArray<string> | undefined
  /**
   * The header that trusted proxies write; no other is read. `x-forwarded-for` or `forwarded` (RFC 7239).
   * @default "x-forwarded-for"
   */
  readonly forwarded_header?: "x-forwarded-for" | "forwarded" | undefined
  /**
   * Whether every caller may say by `traceparent` to which trace its request belongs, and whether that is sampled (docs/traces.md).
   * @default false
   */
  readonly trust_traceparent?: boolean | undefined
  /**
   * Origins whose pages may call models and read the listings, such as "https://app.example"; "*": all.
   * @default ["*"]
   */
  readonly cors_origins?: ReadonlyArray<string> | undefined
  /**
   * The address that browsers use, such as "https://gateway.acme.example". Behind a proxy with TLS it has to be given for signing in (docs/console.md).
   * @default null
   */
  readonly public_url?: string | null | undefined
  /**
   * Whether the console is at `/console`.
   * @default true
   */
  readonly console?: boolean | undefined
  /**
   * Seconds that running requests get to end when the gateway stops, 0 to 86,400.
   * @default 30
   */
  readonly drain_s?: number | undefined
  /**
   * Seconds between the signal to stop and the closing of the port, 0 to 3,600: requests are still served, `/readyz` says 503. For gateways behind a balancer (docs/deployment.md).
   * @default 0
   */
  readonly drain_delay_s?: number | undefined
  /**
   * Of which requests the log has a line: "all", "errors" for those that were refused or failed, or "off" (docs/access-log.md).
   * @default "errors"
   */
  readonly access_log?: "all" | "errors" | "off" | undefined
  /**
   * Whether whole answers say in the header `Server-Timing` what their time was spent on (docs/access-log.md).
   * @default false
   */
  readonly server_timing?: boolean | undefined
  /** Figures of the gateway for those who watch it. */
  readonly metrics?: MetricsInput | undefined
  /** Earlier name of `server.metrics.open`. It is still read, with a warning. */
  readonly open_metrics?: boolean | undefined
}

export interface BreakerInput {
  /**
   * Failures in a row that open it; 0: never.
   * @default 5
   */
  readonly consecutive_failures?: number | undefined
  /**
   * Share of failures within 30 seconds that opens it, 0 to 1; 0: never.
   * @default 0.5
   */
  readonly error_rate?: number | undefined
  /**
   * Requests within 30 seconds before the share counts; 0: the first one counts.
   * @default 20
   */
  readonly min_requests?: number | undefined
  /**
   * Seconds that it stays open the first time, 0 to 300; then twice, three times as many, up to 300. 0: it never opens.
   * @default 30
   */
  readonly open_s?: number | undefined
}

export interface CooldownInput {
  /**
   * Seconds after it refused our account (401, 402).
   * @default 60
   */
  readonly account_s?: number | undefined
  /**
   * Seconds after it did not know the model.
   * @default 60
   */
  readonly not_found_s?: number | undefined
  /**
   * Seconds after a 429 that named no time.
   * @default 5
   */
  readonly rate_limit_s?: number | undefined
  /**
   * Seconds at most, also where the host named a time.
   * @default 300
   */
  readonly max_s?: number | undefined
}

export interface LimitsInput {
  /**
   * Milliseconds until a stream's first event. Default: 2 minutes, 5 where the model may think unseen or no other host is left (docs/routing.md).
   * @default null
   */
  readonly ttfb_ms?: number | null | undefined
  /**
   * Milliseconds that one host has for a whole answer. Default: by `max_tokens` and the host's speed, from 2 minutes to most of the deadline; none for the last host (docs/routing.md).
   * @default null
   */
  readonly attempt_ms?: number | null | undefined
  /**
   * The same by the id of the model, in place of the provider's own and of `attempt_ms`.
   * @default {}
   */
  readonly attempt_ms_by_model?: Readonly<Record<string, number>> | undefined
  /**
   * Milliseconds between events of a stream.
   * @default 60000
   */
  readonly idle_ms?: number | undefined
  /**
   * Milliseconds between events while a model that reasons has sent no content.
   * @default 300000
   */
  readonly thinking_idle_ms?: number | undefined
  /**
   * Milliseconds for a non-streaming answer, or until the first event of a stream, across all attempts.
   * @default 600000
   */
  readonly deadline_ms?: number | undefined
  /**
   * Milliseconds for a stream, from its first event on. A longer stream ends with the finish reason `length`, and its output so far is charged.
   * @default 14400000
   */
  readonly stream_ms?: number | undefined
  /**
   * Milliseconds after which a stream's status is sent although no event came.
   * @default 10000
   */
  readonly commit_after_ms?: number | undefined
  /**
   * Requests at once, per process; further ones get 503. A key may have a quarter of them, at least 64; above that 429.
   * @default 1024
   */
  readonly max_in_flight?: number | undefined
  /**
   * Bytes of a request's body, of a host's non-streaming answer, and of one event of its stream. Answers with embeddings may be twice as long.
   * @default 33554432
   */
  readonly body_bytes?: number | undefined
  /**
   * Bytes of one stream of a host.
   * @default 67108864
   */
  readonly stream_bytes?: number | undefined
  /**
   * Milliseconds for which a client may take no bytes of a stream, or of a non-streaming answer above 1 MiB, before it is cut off.
   * @default 60000
   */
  readonly client_stall_ms?: number | undefined
  /**
   * Bytes per second, over a minute, that a stream of a host must reach.
   * @default 16
   */
  readonly min_bytes_per_s?: number | undefined
  /**
   * Attempts after the first one of a request, of all requests together, as a share of the requests of the last 10 seconds. 10 a second are always allowed.
   * @default 0.2
   */
  readonly retries?: number | undefined
  /** When a host that keeps failing is not called for a while. */
  readonly breaker?: BreakerInput | undefined
  /** Seconds for which a host is not called after certain answers. */
  readonly cooldown?: CooldownInput | undefined
}

export interface HedgeInput {
  /**
   * `"on_request"`: for requests with `provider.hedge: true`. `true`: for all but those with `false`.
   * @default false
   */
  readonly enabled?: boolean | "on_request" | undefined
  /**
   * Share of the spend of the last hour that losing calls may cost, 0 to 1.
   * @default 0.05
   */
  readonly max_cost_share?: number | undefined
}

export interface RoutingInput {
  /**
   * Id of the strategy plugin that orders the hosts of a model.
   * @default "balanced"
   */
  readonly strategy?: string | undefined
  /**
   * The configuration of each strategy plugin, by its id (docs/strategies.md).
   * @default {}
   */
  readonly strategies?: Readonly<Record<string, JsonObject>> | undefined
  /** A second host is called when the first one is slow, for a stream or a whole answer (docs/hedging.md). */
  readonly hedge?: HedgeInput | undefined
}

export interface FreeModelsInput {
  /**
   * Requests in any 60 seconds.
   * @default 20
   */
  readonly requests_per_minute?: number | undefined
  /**
   * Requests on a UTC day.
   * @default 1000
   */
  readonly requests_per_day?: number | undefined
}

export interface BillingInput {
  /**
   * Hosts without a price. "deny": a key with a limit may not call them, others pay nothing. "estimate": they cost what the dearest host of the same model costs, or else that of the same author. "allow": they cost nothing.
   * @default "deny"
   */
  readonly unknown_price?: "deny" | "estimate" | "allow" | undefined
  /**
   * Answers that a failure of their host ended; a finish that the model chose is none. "free": they cost nothing. "metered": they cost what came of them.
   * @default "free"
   */
  readonly error_finish?: "free" | "metered" | undefined
  /** Requests per key to models that cost nothing. Hosts of providers with `network: "private"` are not counted, unless the model's id ends in `:free`. */
  readonly free_models?: FreeModelsInput | undefined
}

export interface PrivacyInput {
  /**
   * Whether prompts and answers may be logged. Not available in this version yet.
   * @default false
   */
  readonly log_content?: boolean | undefined
  /**
   * Whether an answer is kept for 24 hours for a caller who sent an Idempotency-Key.
   * @default true
   */
  readonly idempotency_bodies?: boolean | undefined
}

export interface KeyBudgetRuleInput {
  /**
   * `false`: the rule is off.
   * @default true
   */
  readonly enabled?: boolean | undefined
  /**
   * Percent of its limit that a key has spent, 1 to 100.
   * @default [80,100]
   */
  readonly percent?: readonly [number, ...ReadonlyArray<number>] | undefined
}

export interface DailySpendRuleInput {
  /**
   * `false`: the rule is off.
   * @default true
   */
  readonly enabled?: boolean | undefined
  /**
   * How many times the usual spend of a day: above 0.
   * @default 2
   */
  readonly factor?: number | undefined
  /**
   * Days before today whose median is usual, 3 to 90. Those without spend do not count; there have to be 3 others.
   * @default 14
   */
  readonly days?: number | undefined
  /**
   * USD that the day has cost at least.
   * @default 10
   */
  readonly at_least_usd?: number | undefined
}

export interface UnchargedCostRuleInput {
  /**
   * `false`: the rule is off.
   * @default true
   */
  readonly enabled?: boolean | undefined
  /**
   * Share of what the providers charge for a UTC day that no key pays, 0 to 1.
   * @default 0.1
   */
  readonly share?: number | undefined
  /**
   * USD that it is at least.
   * @default 1
   */
  readonly at_least_usd?: number | undefined
}

export interface AccountRefusedRuleInput {
  /**
   * `false`: the rule is off.
   * @default true
   */
  readonly enabled?: boolean | undefined
}

export interface ErrorRateRuleInput {
  /**
   * `false`: the rule is off.
   * @default true
   */
  readonly enabled?: boolean | undefined
  /**
   * Share of the requests of the last 5 minutes that failed at hosts or in the gateway, 0 to 1.
   * @default 0.2
   */
  readonly share?: number | undefined
  /**
   * Requests within these minutes before the share counts, at least 1.
   * @default 50
   */
  readonly min_requests?: number | undefined
}

export interface BreakerOpenRuleInput {
  /**
   * `false`: the rule is off.
   * @default true
   */
  readonly enabled?: boolean | undefined
  /**
   * Minutes that a circuit breaker is not closed, 0 to 1,440.
   * @default 5
   */
  readonly minutes?: number | undefined
}

export interface LedgerBehindRuleInput {
  /**
   * `false`: the rule is off.
   * @default true
   */
  readonly enabled?: boolean | undefined
  /**
   * Seconds for which the ledger takes no rows, 0 to 86,400.
   * @default 60
   */
  readonly seconds?: number | undefined
}

export interface DiskSpaceRuleInput {
  /**
   * `false`: the rule is off.
   * @default true
   */
  readonly enabled?: boolean | undefined
  /**
   * MiB that are free at least, where the database or its spool lies.
   * @default 1024
   */
  readonly free_mib?: number | undefined
}

export interface CertificateEndsRuleInput {
  /**
   * `false`: the rule is off.
   * @default true
   */
  readonly enabled?: boolean | undefined
  /**
   * Days before the certificate of a PostgreSQL server ends, 0 to 366.
   * @default [14,3]
   */
  readonly days?: readonly [number, ...ReadonlyArray<number>] | undefined
}

export interface SecretReference {
  /** Name of the variable. */
  readonly env: string
}

export type Secret = string | SecretReference

export interface WebhookInput {
  /** Where alerts are sent, https unless `network` is "private": a text, or `{ "env": "NAME" }` where the address is a secret, as that of Slack is. */
  readonly url: Secret
  /** `{ "env": "NAME" }`: the variable of the environment with the secret that signs what is sent (docs/alerts.md). Required where `format` is "json". */
  readonly secret?: Secret | null | undefined
  /**
   * The form of the body: "json", or "slack" for an incoming webhook of Slack.
   * @default "json"
   */
  readonly format?: "json" | "slack" | undefined
  /**
   * "private": loopback and private addresses, and http, are allowed.
   * @default "public"
   */
  readonly network?: "public" | "private" | undefined
  /** Names of the rules that it is told of. Default: all. */
  readonly rules?: ReadonlyArray<"key_budget" | "daily_spend" | "uncharged_cost" | "account_refused" | "error_rate" | "breaker_open" | "ledger_behind" | "disk_space" | "certificate_ends"> | null | undefined
}

export interface AlertsInput {
  /** A key has spent so much of its limit. */
  readonly key_budget?: KeyBudgetRuleInput | undefined
  /** A UTC day costs much more than days usually do. */
  readonly daily_spend?: DailySpendRuleInput | undefined
  /** Much of what the providers charge is paid by no key. */
  readonly uncharged_cost?: UnchargedCostRuleInput | undefined
  /** A provider refuses our account. */
  readonly account_refused?: AccountRefusedRuleInput | undefined
  /** Many requests fail. */
  readonly error_rate?: ErrorRateRuleInput | undefined
  /** A host is not called since it keeps failing. */
  readonly breaker_open?: BreakerOpenRuleInput | undefined
  /** The database takes no rows of the ledger. */
  readonly ledger_behind?: LedgerBehindRuleInput | undefined
  /** The disk is nearly full. */
  readonly disk_space?: DiskSpaceRuleInput | undefined
  /** The certificate of the database's server is about to end. */
  readonly certificate_ends?: CertificateEndsRuleInput | undefined
  /**
   * Where alerts are sent. They are in the log in any case.
   * @default []
   */
  readonly webhooks?: ReadonlyArray<WebhookInput> | undefined
}

export interface RecordsInput {
  /**
   * For how many days records of requests that were refused or failed are kept (`GET /requests`); 0: none are kept.
   * @default 30
   */
  readonly requests_days?: number | undefined
  /**
   * How many of them are kept; of more, the newest.
   * @default 1000000
   */
  readonly requests_rows?: number | undefined
}

export interface DiscoveryInput {
  /**
   * Whether providers are on whose key variable is set.
   * @default true
   */
  readonly environment?: boolean | undefined
  /**
   * Whether model servers on loopback are looked for at their usual ports, every 30 seconds. In an app that embeds the gateway only where `true` is written.
   * @default true
   */
  readonly local?: boolean | undefined
}

export interface PluginsInput {
  /** Folders that are searched, relative to the folder of this file. They replace the default, and with it every vendor and strategy that comes with the gateway. Default: "./plugins" and the folder that comes with the gateway. */
  readonly folders?: ReadonlyArray<string> | undefined
  /**
   * Names of packages that are plugins, found from the folder of this file.
   * @default []
   */
  readonly packages?: ReadonlyArray<string> | undefined
  /**
   * Plugins that this file itself defines or imports. They come before those of the folders.
   * @default []
   */
  readonly inline?: ReadonlyArray<Plugin> | undefined
  /**
   * Ids of plugins that come with the gateway and that a plugin of yours with the same id replaces. Without its id here yours is off.
   * @default []
   */
  readonly override?: ReadonlyArray<string> | undefined
  /**
   * Ids of plugins without which the gateway does not start.
   * @default []
   */
  readonly required?: ReadonlyArray<string> | undefined
}

export interface CatalogueInput {
  /**
   * A file with lists of models, which replace those of the plugins (docs/catalogue.md). Relative to the folder of this file; it may be absent.
   * @default "./data/catalogue.json"
   */
  readonly file?: string | undefined
}

export interface ProviderKeyInput {
  /** `{ "env": "NAME" }`: the variable of the environment that has the key. */
  readonly key: Secret
  /**
   * How often it is used in relation to the others: above 0, at most 1,000,000.
   * @default 1
   */
  readonly weight?: number | undefined
  /**
   * USD that the provider may charge for it, in each window of `limit_reset`; `null`: no bound.
   * @default null
   */
  readonly limit?: string | number | null | undefined
  /**
   * When the limit begins anew, at 00:00 UTC; weeks begin on Monday; `null`: never.
   * @default null
   */
  readonly limit_reset?: "daily" | "weekly" | "monthly" | null | undefined
}

export interface ProviderPrivacyInput {
  /**
   * Whether it may train models on prompts.
   * @default true
   */
  readonly may_train?: boolean | undefined
  /**
   * Whether it keeps prompts.
   * @default true
   */
  readonly retains_prompts?: boolean | undefined
}

export interface ProviderInput {
  /** Id of the plugin. Default: the slug. */
  readonly plugin?: string | null | undefined
  /** Display name. Default: the plugin's. */
  readonly name?: string | null | undefined
  /** Address, with the version segment of the API at its end: "https://api.acme.example/v1". https, unless `network` is "private". Default: the plugin's. */
  readonly base_url?: string | null | undefined
  /** `{ "env": "NAME" }`: the variable of the environment that has the key. Default: the variable that the plugin names. */
  readonly api_key?: Secret | null | undefined
  /** Several keys in place of `api_key`, of which each call uses one (docs/provider-keys.md). Default: there is only `api_key`. */
  readonly api_keys?: readonly [ProviderKeyInput, ...ReadonlyArray<ProviderKeyInput>] | null | undefined
  /** What the provider does with prompts; a member left out counts as true. Default: what the plugin says. */
  readonly privacy?: ProviderPrivacyInput | null | undefined
  /** Requests at once to this provider; further ones go to other hosts. Default: no bound. */
  readonly max_concurrent?: number | null | undefined
  /** Milliseconds until a stream's first event. Default: that of `limits`. */
  readonly ttfb_ms?: number | null | undefined
  /** Milliseconds that one of its hosts has for a whole answer. Default: that of `limits`. */
  readonly attempt_ms?: number | null | undefined
  /** Whether its hosts bill the whole answer even when a call is canceled (docs/billing.md). Default: the value of each host. */
  readonly bills_after_abort?: boolean | null | undefined
  /**
   * `false`: it is off, and its hosts are not called.
   * @default true
   */
  readonly enabled?: boolean | undefined
  /** "private": loopback and private addresses, and http, are allowed. Default: what the plugin says, or else "public". */
  readonly network?: "public" | "private" | null | undefined
  /** URL of an HTTP proxy, used whatever `NO_PROXY` says. Default: that of `HTTPS_PROXY` or `HTTP_PROXY`, for hosts with network "public" that `NO_PROXY` does not exempt. */
  readonly proxy?: string | null | undefined
  /** Whether its hosts get the header `traceparent` while requests are traced (docs/traces.md). Default: where `network` is "private". */
  readonly traceparent?: boolean | null | undefined
  /** Name of the protocol that its hosts are called by. Default: the first of the plugin. */
  readonly api?: string | null | undefined
  /**
   * Marks of its hosts for strategies (docs/strategies.md#write), such as `eu` or `batch`: at most 16, each of 1 to 64 characters.
   * @default []
   */
  readonly tags?: ReadonlyArray<string> | undefined
  /**
   * Additional top-level members that requests may pass to its hosts unread, beside those of the API formats and of its plugin. Members that multiply a bill pass only if named here. No name replaces a member that the gateway writes, or lifts a refusal.
   * @default []
   */
  readonly extra_members?: ReadonlyArray<string> | undefined
  readonly [other: string]: unknown
}

export interface GatewayConfigInput {
  /** For editors: the path of the JSON Schema of this file, "./node_modules/headgate/config.schema.json". */
  readonly $schema?: string | undefined
  /** Addresses and processes. A change takes effect at the next start. */
  readonly server?: ServerInput | undefined
  /**
   * Where keys and ledger are kept: "memory:", "sqlite:PATH" (relative to the folder of this file) or "postgres://USER@HOST/DATABASE". A change takes effect at the next start.
   * @default "sqlite:./data/headgate.db"
   */
  readonly storage?: string | undefined
  /**
   * "full": a reported cost survives a power cut (of PostgreSQL's server, too). "process": it survives the end of the process. A change takes effect at the next start.
   * @default "full"
   */
  readonly durability?: "full" | "process" | undefined
  /**
   * With PostgreSQL: a folder on a disk of this machine, for what the server does not take in time. Relative to the folder of this file. A change takes effect at the next start.
   * @default "./data"
   */
  readonly spool_folder?: string | undefined
  /** Bounds of one request and of all; 0 switches one off. */
  readonly limits?: LimitsInput | undefined
  /** Which host is called. */
  readonly routing?: RoutingInput | undefined
  /** What is charged where it is not plain. */
  readonly billing?: BillingInput | undefined
  /** What is kept of prompts and answers. */
  readonly privacy?: PrivacyInput | undefined
  /** Rules of what is told at once (docs/alerts.md). A change takes effect at the next start. */
  readonly alerts?: AlertsInput | undefined
  /** Records of requests beside the ledger. A change takes effect at the next start. */
  readonly records?: RecordsInput | undefined
  /** Providers that are turned on without being configured. */
  readonly discovery?: DiscoveryInput | undefined
  /** Where plugins are found. A change takes effect at the next start. */
  readonly plugins?: PluginsInput | undefined
  /** Lists of models from a file. */
  readonly catalogue?: CatalogueInput | undefined
  /**
   * Names that callers may use, and the ids of the models that they mean.
   * @default {}
   */
  readonly aliases?: Readonly<Record<string, string>> | undefined
  /**
   * Vendors and servers, by a slug of your own. Those that are discovered need none.
   * @default {}
   */
  readonly providers?: Readonly<Record<string, ProviderInput>> | undefined
  /**
   * Models of your own, and the hosts that serve them, with prices in USD per token. They come before those of the plugins.
   * @default []
   */
  readonly models?: ReadonlyArray<ModelInput> | undefined
}
