/** docs/reference/metrics.md: the families of series, as `src/services/metrics` has them, each with an example of a query. */
import { waivers } from "../../src/domain/money/Charge.ts"
import { formRoutes } from "../../src/domain/request/forms.ts"
import type { Family } from "../../src/services/metrics/Family.ts"
import { allFamilies } from "../../src/services/metrics/families.ts"
import { mostPairs } from "../../src/services/metrics/Pairs.ts"

const examples: Readonly<Record<string, string>> = {
  headgate_requests_total: "sum by (outcome) (rate(headgate_requests_total[5m]))",
  headgate_control_requests_total: "sum by (outcome) (rate(headgate_control_requests_total[5m]))",
  headgate_attempts_total: 'sum by (host) (rate(headgate_attempts_total{outcome=~"host_.*"}[5m]))',
  headgate_fallbacks_total: "sum by (host) (increase(headgate_fallbacks_total[1h]))",
  headgate_hedges_total: "sum(increase(headgate_hedges_total[1h]))",
  headgate_request_duration_seconds:
    "histogram_quantile(0.99, sum by (le) (rate(headgate_request_duration_seconds_bucket[5m])))",
  headgate_time_to_first_token_seconds:
    "histogram_quantile(0.95, sum by (le, host) (rate(headgate_time_to_first_token_seconds_bucket[5m])))",
  headgate_answer_duration_seconds:
    "topk(5, sum by (host) (increase(headgate_answer_duration_seconds_sum[1d])) / sum by (host) (increase(headgate_answer_duration_seconds_count[1d])))",
  headgate_time_per_output_token_seconds:
    "histogram_quantile(0.5, sum by (le, model, host) (rate(headgate_time_per_output_token_seconds_bucket[5m])))",
  headgate_overhead_seconds: "histogram_quantile(0.99, sum by (le) (rate(headgate_overhead_seconds_bucket[5m])))",
  headgate_input_tokens_total: "sum by (model) (rate(headgate_input_tokens_total[5m]))",
  headgate_output_tokens_total: "sum by (model) (rate(headgate_output_tokens_total[5m]))",
  headgate_cache_read_tokens_total:
    "sum(rate(headgate_cache_read_tokens_total[1h])) / sum(rate(headgate_input_tokens_total[1h]))",
  headgate_cache_write_tokens_total: "sum by (host) (rate(headgate_cache_write_tokens_total[1h]))",
  headgate_reasoning_tokens_total: "sum by (model) (rate(headgate_reasoning_tokens_total[1h]))",
  headgate_estimated_input_tokens_total: "sum by (host) (increase(headgate_estimated_input_tokens_total[1d]))",
  headgate_estimated_output_tokens_total: "sum by (host) (increase(headgate_estimated_output_tokens_total[1d]))",
  headgate_cost_usd_total: "sum by (model) (increase(headgate_cost_usd_total[1h]))",
  headgate_upstream_cost_usd_total: "sum by (host) (increase(headgate_upstream_cost_usd_total[1d]))",
  headgate_waived_cost_usd_total: "sum by (reason) (increase(headgate_waived_cost_usd_total[1d]))",
  headgate_uncharged_cost_usd_total: "sum(increase(headgate_uncharged_cost_usd_total[1d]))",
  headgate_in_flight: "sum(headgate_in_flight)",
  headgate_places_used: "headgate_places_used / headgate_places",
  headgate_places: "headgate_places_used / headgate_places",
  headgate_body_bytes: "sum(headgate_body_bytes)",
  headgate_held_usd: "sum(headgate_held_usd)",
  headgate_key_budget_left_usd: "headgate_key_budget_left_usd < 1",
  headgate_ledger_commit_seconds:
    "histogram_quantile(0.99, sum by (le) (rate(headgate_ledger_commit_seconds_bucket[5m])))",
  headgate_ledger_commit_rows:
    "rate(headgate_ledger_commit_rows_sum[5m]) / rate(headgate_ledger_commit_rows_count[5m])",
  headgate_ledger_lag_seconds: "max(headgate_ledger_lag_seconds) > 10",
  headgate_ledger_backlog_rows: "sum(headgate_ledger_backlog_rows) > 0",
  headgate_spool_rows: "sum(headgate_spool_rows) > 0",
  headgate_ledger_writable: "headgate_ledger_writable == 0",
  headgate_host_up: "headgate_host_up == 0",
  headgate_breaker_open: "headgate_breaker_open == 1",
  headgate_host_permits: "sum by (provider) (headgate_host_permits)",
  headgate_upstream_connections: "sum by (origin) (headgate_upstream_connections)",
  headgate_upstream_connections_idle: "sum by (origin) (headgate_upstream_connections_idle)",
  headgate_upstream_dials_total: "sum by (origin) (rate(headgate_upstream_dials_total[5m]))",
  headgate_upstream_dial_failures_total: "sum by (origin) (increase(headgate_upstream_dial_failures_total[10m])) > 0",
  headgate_upstream_tls_handshakes_total: "sum by (origin) (rate(headgate_upstream_tls_handshakes_total[5m]))",
  headgate_upstream_reuses_total:
    "sum(rate(headgate_upstream_reuses_total[5m])) / sum(rate(headgate_attempts_total[5m]))",
  headgate_upstream_resends_total: "sum by (origin) (increase(headgate_upstream_resends_total[1h]))",
  headgate_trace_spans_exported_total: "sum(rate(headgate_trace_spans_exported_total[5m]))",
  headgate_trace_spans_dropped_total: "sum(increase(headgate_trace_spans_dropped_total[1h]))",
  headgate_log_lines_lost_total: "sum(increase(headgate_log_lines_lost_total[1h]))",
  headgate_event_loop_delay_seconds:
    "histogram_quantile(0.99, sum by (le) (rate(headgate_event_loop_delay_seconds_bucket[5m])))",
  process_cpu_seconds_total: 'rate(process_cpu_seconds_total{job="headgate"}[5m])',
  process_resident_memory_bytes: 'process_resident_memory_bytes{job="headgate"}',
  process_open_fds: 'process_open_fds{job="headgate"} / process_max_fds{job="headgate"}',
  process_max_fds: 'process_open_fds{job="headgate"} / process_max_fds{job="headgate"}',
  process_start_time_seconds: 'time() - process_start_time_seconds{job="headgate"}',
  headgate_processes: "headgate_processes",
  headgate_build_info: "count by (version) (headgate_build_info)",
}

/** The unit that a name says, at its end or before `_total`. */
const unitOf = (name: string): string => {
  const unit = /_(seconds|bytes|usd|tokens|rows)(?:_total)?$/.exec(name)?.[1] ?? ""
  return unit === "usd" ? "USD" : unit
}

const code = (name: string): string => `\`${name}\``

const list = (names: Iterable<string>): string => Array.from(names, code).join(", ")

const rowOf = ({ name, type, labels, help }: Family): string => {
  const example = examples[name]
  if (example === undefined) throw new Error(`${name} has no example in scripts/reference/metrics.ts`)
  return `| ${code(name)} | ${type} | ${list(labels)} | ${unitOf(name)} | ${help} | ${code(example)} |`
}

export const page = (): string => `# Families of metrics

For operators: every family that [\`/metrics\`](../metrics.md) shows, the values of its labels, and a query of each.
Made by \`bun scripts/reference.ts\` from \`src/services/metrics/families.ts\`; do not edit.

A family is absent until it has a value.
After a [reload](../configuration.md#reload) that removed a host, its gauges end; its counters stay until the process ends.

## Labels <a id="labels"></a>

- \`form\`: ${list(formRoutes.keys())}.
- \`model\`, \`host\`: as the configuration names them.
  At most ${mostPairs.toLocaleString("en")} pairs have series of their own, those with traffic first.
  Others are \`_OTHER\`, and so are unknown models; "" is a request that was refused before its model was known.
- \`outcome\` of requests: \`ok\`, or a word whose beginning says who caused it ([outcomes](../errors.md#outcomes)):
  \`caller_…\`, \`policy_…\` (your rules), \`host_…\`, \`gateway_…\`.
- \`outcome\` of attempts: such a word, \`ok\`, \`lost\` (another call was faster), or \`abandoned\`
  (the request was ended before the host said anything).
- \`stream\`: \`true\` or \`false\`.
- \`reason\` of waived cost: ${list(waivers)}.
- \`provider\`: its slug.
- \`origin\`: scheme, host and port of a call; at most 200.
- \`key\`, \`name\`: hash and name of a key, only where \`server.metrics.budget_keys\` asks for them; at most 200.
- \`version\`, \`bun\`: of the gateway, and of Bun.

## Families <a id="families"></a>

| name | type | labels | unit | meaning | example |
| --- | --- | --- | --- | --- | --- |
${allFamilies.map(rowOf).join("\n")}
`
