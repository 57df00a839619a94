/**
 * What the API answers, as far as the console reads it; /openapi.json describes all of it. `exact` holds amounts as decimal strings of
 * USD, which are what is shown.
 */

export type Role = "read" | "keys" | "all"

export interface Session {
  readonly kind: "management" | "ordinary"
  /** `null` for an ordinary key. */
  readonly role: Role | null
  readonly name: string
  readonly label: string
  readonly hash: string
  /** `null`, as the next two: of a request that has the key itself. */
  readonly created_at: string | null
  readonly expires_at: string | null
  readonly idle_ends_at: string | null
  /** Of the gateway; `null` for ordinary keys. */
  readonly version: string | null
  readonly public_url: string | null
}

export interface Figures {
  readonly requests: number
  /** Refused or failed, and by whose fault; `null`: not known by app or user. */
  readonly errors: number | null
  readonly errors_by: Readonly<Record<"caller" | "policy" | "host" | "gateway", number>> | null
  readonly tokens_prompt: number
  readonly tokens_completion: number
  readonly tokens_cached: number
  readonly tokens_reasoning: number
  readonly exact: { readonly usage: string; readonly upstream_cost: string }
  readonly first_token_ms: { readonly p50: number; readonly p99: number; readonly count: number } | null
}

export type Grouping = "model" | "host" | "provider" | "key" | "app" | "user"

/** Of these the ones are there that the grouping has. "": the requests gave none. */
export interface GroupNames {
  readonly model?: string | null
  readonly host?: string | null
  readonly provider?: string | null
  readonly provider_name?: string | null
  readonly key_hash?: string | null
  readonly key_name?: string | null
  readonly app_title?: string | null
  readonly app_url?: string | null
  readonly user_hash?: string | null
}

export interface Point extends Figures {
  readonly at: string
  readonly is_partial: boolean
}

export interface Group {
  readonly group: GroupNames
  readonly totals: Figures
  readonly points: ReadonlyArray<Point>
}

export interface Analytics {
  readonly from: string
  readonly to: string
  readonly interval: "hour" | "day"
  /** Since when there are sums, single rows and records of requests; `null` where there is none. */
  readonly kept_since: { readonly sums: string | null; readonly rows: string | null; readonly requests: string | null }
  readonly totals: Figures
  readonly points: ReadonlyArray<Point>
  readonly groups: ReadonlyArray<Group>
  readonly other: Figures | null
}

export interface LiveRequest {
  readonly request_id: string
  readonly created_at: string
  readonly age_ms: number
  readonly key_hash: string | null
  readonly key_name: string | null
  readonly route: string
  readonly form: string | null
  readonly model: string | null
  readonly host: string | null
  readonly streamed: boolean
  readonly state: "receiving" | "waiting" | "streaming"
  readonly process: string
  readonly is_here: boolean
}

export interface LiveRequests {
  readonly data: ReadonlyArray<LiveRequest>
  readonly complete: boolean
}

export interface Attempt {
  readonly model: string
  readonly host: string
  readonly outcome: string
  readonly status?: number | null
  readonly duration_ms?: number | null
  /** What kept the host from being reached. */
  readonly fault?: string | null
}

export interface RequestRow {
  readonly request_id: string
  readonly generation_id: string | null
  readonly caller_request_id: string | null
  readonly created_at: string
  readonly key_hash: string
  readonly app_title: string | null
  readonly app_url: string | null
  readonly user_hash: string | null
  readonly route: string
  readonly form: string | null
  readonly model: string | null
  readonly host: string | null
  readonly status: number
  readonly outcome: string
  readonly why: string | null
  readonly streamed: boolean
  readonly exact: { readonly usage: string | null }
  readonly tokens_prompt: number
  readonly tokens_completion: number
  /** `null`: one host was called, which answered. */
  readonly attempts: ReadonlyArray<Attempt> | null
  readonly duration_ms: number | null
  readonly times_ms: {
    readonly admitted: number | null
    readonly first_attempt: number | null
    readonly first_token: number | null
    readonly first_byte: number | null
    readonly last_byte: number | null
    readonly booked: number | null
  }
  readonly bytes_in: number | null
  readonly bytes_out: number | null
  readonly address: string | null
  /** How many requests this row stands for. */
  readonly requests: number
}

export interface RequestPage {
  readonly data: ReadonlyArray<RequestRow>
  readonly next: string | null
  readonly position: string | null
}

export interface Alert {
  readonly id: string
  readonly rule: string
  readonly subject: { readonly kind: string; readonly id: string; readonly name: string }
  readonly severity: "warning" | "critical"
  readonly state: "firing" | "resolved" | "told"
  readonly text: string
  readonly created_at: string
  readonly seen_at: string
  readonly resolved_at: string | null
}

export interface GatewayState {
  readonly version: string
  readonly bun_version: string
  readonly started_at: string
  readonly storage: { readonly kind: string; readonly reachable: boolean }
  readonly ledger: {
    readonly takes_requests: boolean
    readonly why: string | null
    readonly backlog_rows: number | null
    readonly spooled_rows: number
    readonly last_commit_at: string | null
  }
  readonly disk: { readonly free_bytes: number; readonly total_bytes: number } | null
  readonly requests: { readonly running: number; readonly placed: number; readonly places: number }
  readonly breakers: ReadonlyArray<{
    readonly model: string
    readonly host: string
    readonly state: string
    readonly since: string
    readonly why: string
  }>
  readonly resting: ReadonlyArray<{
    readonly provider: string
    readonly model: string
    readonly host: string
    readonly until: string
    readonly why: string
  }>
  /** `null`: the database did not answer. */
  readonly keys_near_limit: ReadonlyArray<{
    readonly hash: string
    readonly name: string
    readonly spent_share: number
    readonly resets_at: string | null
  }> | null
  readonly warnings: ReadonlyArray<string>
  readonly configuration: { readonly file: string | null; readonly loaded_at: string }
}

export interface ProviderState {
  readonly slug: string
  readonly name: string
  readonly plugin: string
  readonly source: "configuration" | "environment" | "local" | "plugin"
  readonly state: "on" | "off"
  readonly why: string | null
  /** The variable that holds its key, or is to hold it. */
  readonly variable: string | null
  readonly base_url_host: string | null
  readonly hosts: number
  readonly models: number
  readonly network: "public" | "private" | null
  readonly keys: ReadonlyArray<{
    readonly label: string
    readonly state: "ready" | "resting"
    readonly why: string | null
    readonly rests_until: string | null
    readonly exact: { readonly spent_usd: string | null }
  }>
  readonly account_refused_at: string | null
  readonly last_error: {
    readonly at: string
    readonly model: string
    readonly host: string
    readonly why: string
  } | null
}

export interface Budget {
  readonly scope: string
  readonly reset_interval: string | null
  readonly resets_at: string | null
  readonly include_byok: boolean
  readonly exact: {
    readonly limit_usd: string | null
    readonly spend_usd: string
    readonly remaining_usd: string | null
  }
}

export type KeyAmount = "usage" | "usage_daily" | "usage_weekly" | "usage_monthly"

export interface OwnKey {
  readonly label: string
  readonly is_management_key: boolean
  readonly limit_reset: string | null
  readonly exact: Readonly<Record<KeyAmount, string>> & {
    readonly limit: string | null
    readonly limit_remaining: string | null
  }
  readonly budgets: ReadonlyArray<Budget>
  readonly expires_at: string | null
  readonly free_model_daily_requests: {
    readonly used: number
    readonly limit: number
    readonly remaining: number
  } | null
}
