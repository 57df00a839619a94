/**
 * Every family of series that the gateway has: names, units and labels are part of its interface, and stay. docs/reference/metrics.md is
 * made of them. A label has one of a closed set of values: never a user or a text of a caller, and a key only where the operator
 * asks for budgets.
 */
import { type Family, family } from "./Family.ts"

/** Buckets in seconds. */
const doubling = (first: number, count: number): ReadonlyArray<number> =>
  Array.from({ length: count }, (_, step) => Number((first * 2 ** step).toPrecision(10)))

const pair = ["model", "host"] as const

/** Counted at the end of each request. */
export const requestFamilies = {
  requests: family(
    "counter",
    "headgate_requests_total",
    ["form", "model", "outcome"],
    "Requests to models that are over.",
  ),
  controlRequests: family("counter", "headgate_control_requests_total", ["outcome"], "Other requests that are over."),
  attempts: family("counter", "headgate_attempts_total", [...pair, "outcome"], "Calls of hosts that are over."),
  fallbacks: family(
    "counter",
    "headgate_fallbacks_total",
    pair,
    "Calls of a host after another one had failed the request.",
  ),
  hedges: family("counter", "headgate_hedges_total", pair, "Calls of a host beside another one that was slow."),
  duration: family(
    "histogram",
    "headgate_request_duration_seconds",
    ["form", "stream"],
    "From the first byte of a request to a model to its end.",
    { buckets: doubling(0.01, 16) },
  ),
  firstToken: family(
    "histogram",
    "headgate_time_to_first_token_seconds",
    pair,
    "From the call of the host that answers to its first event that a caller sees. Streams alone.",
    { buckets: doubling(0.05, 11) },
  ),
  answer: family(
    "histogram",
    "headgate_answer_duration_seconds",
    pair,
    "From the call of the host that answers to the end of its answer, whole or streamed.",
    { buckets: doubling(0.05, 13) },
  ),
  perToken: family(
    "histogram",
    "headgate_time_per_output_token_seconds",
    pair,
    "Mean time between tokens of one answer, after the first. Streams alone.",
    { buckets: doubling(0.001, 11) },
  ),
  overhead: family(
    "histogram",
    "headgate_overhead_seconds",
    ["form"],
    "What the gateway adds: until the first call of a host, and from the answer of the host (its first event, or all of a whole answer) to the first byte for the caller.",
    { buckets: doubling(0.00025, 10) },
  ),
} as const satisfies Readonly<Record<string, Family>>

/** Counted with each row that is in the ledger, so that they equal its sums. */
export const ledgerFamilies = {
  inputTokens: family("counter", "headgate_input_tokens_total", pair, "Tokens of prompts, as hosts counted them."),
  outputTokens: family("counter", "headgate_output_tokens_total", pair, "Tokens of answers, as hosts counted them."),
  cacheReadTokens: family(
    "counter",
    "headgate_cache_read_tokens_total",
    pair,
    "Of the input: read from a cache of the host.",
  ),
  cacheWriteTokens: family(
    "counter",
    "headgate_cache_write_tokens_total",
    pair,
    "Of the input: written into a cache of the host.",
  ),
  reasoningTokens: family("counter", "headgate_reasoning_tokens_total", pair, "Of the output: reasoning."),
  estimatedInputTokens: family(
    "counter",
    "headgate_estimated_input_tokens_total",
    pair,
    "Tokens of prompts whose host reported none: estimated, and in no other counter.",
  ),
  estimatedOutputTokens: family(
    "counter",
    "headgate_estimated_output_tokens_total",
    pair,
    "Tokens of answers whose host reported none: estimated, and in no other counter.",
  ),
  cost: family("counter", "headgate_cost_usd_total", pair, "What callers pay.", { isMoney: true }),
  upstreamCost: family("counter", "headgate_upstream_cost_usd_total", pair, "What hosts charge, whoever pays.", {
    isMoney: true,
  }),
  waivedCost: family(
    "counter",
    "headgate_waived_cost_usd_total",
    [...pair, "reason"],
    "What hosts charge for answers that are free to their callers.",
    { isMoney: true },
  ),
  unchargedCost: family(
    "counter",
    "headgate_uncharged_cost_usd_total",
    pair,
    "By how much the bills of hosts can be above what was estimated, at most.",
    { isMoney: true },
  ),
} as const satisfies Readonly<Record<string, Family>>

/** Read from services when the figures are asked for. */
export const serviceFamilies = {
  inFlight: family("gauge", "headgate_in_flight", [], "Requests that run."),
  places: family("gauge", "headgate_places_used", [], "Requests that have one of the places."),
  mostPlaces: family("gauge", "headgate_places", [], "Places: limits.max_in_flight, of all processes together."),
  bodyBytes: family("gauge", "headgate_body_bytes", [], "Bytes of bodies of running requests that are kept."),
  reserved: family("gauge", "headgate_held_usd", [], "Reserved by running requests.", { isMoney: true }),
  keyBudget: family(
    "gauge",
    "headgate_key_budget_left_usd",
    ["key", "name"],
    "Left of the limit of a key in its present window. Off unless server.metrics.budget_keys says how many keys.",
    { isMoney: true, merge: "min" },
  ),
  commits: family("histogram", "headgate_ledger_commit_seconds", [], "Commits of the ledger: how long each took.", {
    buckets: doubling(0.0005, 14),
  }),
  committedRows: family("histogram", "headgate_ledger_commit_rows", [], "Rows of each commit of the ledger.", {
    buckets: doubling(1, 9),
  }),
  lag: family(
    "gauge",
    "headgate_ledger_lag_seconds",
    [],
    "Age of the oldest row that is not in the ledger yet; 0: there is none.",
    {
      merge: "max",
    },
  ),
  backlog: family(
    "gauge",
    "headgate_ledger_backlog_rows",
    [],
    "Rows that the database could not take, and that are tried again.",
  ),
  spooled: family("gauge", "headgate_spool_rows", [], "Rows on the local disk that are not in PostgreSQL yet."),
  writable: family(
    "gauge",
    "headgate_ledger_writable",
    [],
    "1: paid requests may start; 0: the ledger takes no rows.",
    {
      merge: "min",
    },
  ),
  hostUp: family(
    "gauge",
    "headgate_host_up",
    pair,
    "1: the host may be called; 0: it cools down, or its breaker is open.",
    {
      merge: "min",
    },
  ),
  breakerOpen: family(
    "gauge",
    "headgate_breaker_open",
    pair,
    "1: the circuit breaker of the host is open or half-open.",
    {
      merge: "max",
    },
  ),
  permits: family("gauge", "headgate_host_permits", ["provider"], "Calls that run at a provider."),
  connections: family("gauge", "headgate_upstream_connections", ["origin"], "Open connections to a host."),
  idle: family("gauge", "headgate_upstream_connections_idle", ["origin"], "Of these: those that no call uses."),
  dials: family("counter", "headgate_upstream_dials_total", ["origin"], "Connections to a host that were begun."),
  dialFailures: family(
    "counter",
    "headgate_upstream_dial_failures_total",
    ["origin"],
    "Of these: those that could not be opened.",
  ),
  handshakes: family("counter", "headgate_upstream_tls_handshakes_total", ["origin"], "TLS handshakes that succeeded."),
  reuses: family("counter", "headgate_upstream_reuses_total", ["origin"], "Calls on a connection that was kept."),
  resends: family(
    "counter",
    "headgate_upstream_resends_total",
    ["origin"],
    "Requests that were sent again, since the host had closed the kept connection.",
  ),
  spansExported: family(
    "counter",
    "headgate_trace_spans_exported_total",
    [],
    "Spans that the collector took, or an app's Tracer.",
  ),
  spansDropped: family(
    "counter",
    "headgate_trace_spans_dropped_total",
    [],
    "Spans that were lost: the queue was full, or the collector did not take them.",
  ),
  linesLost: family(
    "counter",
    "headgate_log_lines_lost_total",
    [],
    "Lines of the log that were dropped, since nobody took them.",
  ),
} as const satisfies Readonly<Record<string, Family>>

/** Of the process. */
export const processFamilies = {
  loopDelay: family(
    "histogram",
    "headgate_event_loop_delay_seconds",
    [],
    "How late the event loop was, looked at ten times a second.",
    { buckets: doubling(0.001, 12) },
  ),
  cpu: family("counter", "process_cpu_seconds_total", [], "Processor time, of user and system."),
  memory: family("gauge", "process_resident_memory_bytes", [], "Memory in use."),
  openFds: family("gauge", "process_open_fds", [], "Open file descriptors. Linux alone."),
  maxFds: family("gauge", "process_max_fds", [], "File descriptors that may be open. Linux alone."),
  started: family(
    "gauge",
    "process_start_time_seconds",
    [],
    "When the process started, Unix seconds; of several the first.",
    {
      merge: "min",
    },
  ),
  processes: family("gauge", "headgate_processes", [], "Processes that these figures are of: workers."),
  build: family("gauge", "headgate_build_info", ["version", "bun"], "1. Which version runs, on which version of Bun.", {
    merge: "max",
  }),
} as const satisfies Readonly<Record<string, Family>>

/** In the order in which they are shown. */
export const allFamilies: ReadonlyArray<Family> = [
  ...Object.values(requestFamilies),
  ...Object.values(ledgerFamilies),
  ...Object.values(serviceFamilies),
  ...Object.values(processFamilies),
]
