/** docs/reference/alerts.md: the rules of alerts, with their settings and defaults as the configuration has them. */
import * as Schema from "effect/Schema"
import { Alerts } from "../../src/config/fields/alertFields.ts"
import { type AlertRule, alertRules } from "../../src/domain/alerts/Alert.ts"

interface Words {
  /** When it holds, without figures: those are its settings. */
  readonly holds: string
  readonly each: string
  readonly severity: string
  readonly remedy: string
  /** What else one has to know: whole sentences. */
  readonly notes?: ReadonlyArray<string>
}

const words: Readonly<Record<AlertRule, Words>> = {
  key_budget: {
    holds: "A key has spent `percent` percent of its limit.",
    each: "key, window, limit and percentage",
    severity: "warning; critical from 100",
    remedy: "Raise the limit with `headgate keys change`, or wait for the key's next window.",
    notes: [
      "Keys with requests since the last check are checked.",
      "A key that passes two percentages between two checks gets the alert of the higher one.",
      "A changed limit is another budget.",
    ],
  },
  daily_spend: {
    holds:
      "The spend of this UTC day is at least `factor` times that of the usual day, and at least `at_least_usd` USD.",
    each: "UTC day",
    severity: "warning",
    remedy: "`headgate spend` shows who spent it.",
    notes: [
      "The usual day is the median of those of the last `days` UTC days that have any spend; there have to be three.",
    ],
  },
  uncharged_cost: {
    holds: "No key pays `share` or more of what hosts bill for this UTC day, and this is at least `at_least_usd` USD.",
    each: "UTC day",
    severity: "warning",
    remedy:
      'See why the host breaks off (`/api/v1/models/{author}/{slug}/endpoints`), or charge such answers: `billing.error_finish: "metered"`.',
    notes: [
      "It comes from failures of hosts, lost calls of [hedging](../hedging.md), and answers that could not be booked in time ([billing](../billing.md)).",
    ],
  },
  account_refused: {
    holds: "A provider refused our account within the last hour.",
    each: "provider, while it lasts",
    severity: "critical",
    remedy: "Check the provider's key and credit: `headgate doctor`.",
    notes: ["A refusal is 401, 402, or an answer that the plugin reads so."],
  },
  error_rate: {
    holds:
      "`share` or more of the requests of the last 5 minutes failed at hosts or in the gateway, of at least `min_requests`.",
    each: "installation, while it lasts",
    severity: "critical",
    remedy: "`headgate doctor`, and the vendor's status page.",
    notes: [
      "Requests to models with an outcome `host_…` or `gateway_…` have failed.",
      "Not counted are those that a caller or your rules ended (`caller_…`, `policy_…`), or a stop of the gateway refused.",
      "Each process counts its own.",
    ],
  },
  breaker_open: {
    holds: "The circuit breaker of a host has not been closed for `minutes` minutes.",
    each: "host and model, while it lasts",
    severity: "warning",
    remedy: "`headgate doctor`, and the vendor's status page.",
    notes: ["It counts as open until a probe succeeds; without requests there is no probe."],
  },
  ledger_behind: {
    holds: "The ledger takes no rows for `seconds` seconds, so no paid request starts.",
    each: "installation, while it lasts",
    severity: "critical",
    remedy: "The log line before it has the cause: database away, disk full, or file replaced.",
  },
  disk_space: {
    holds: "The disk of the SQLite file or of the spool has less than `free_mib` MiB left.",
    each: "machine, while it lasts",
    severity: "critical",
    remedy: "Make room: without it, paid requests stop.",
  },
  certificate_ends: {
    holds: "The TLS certificate of a PostgreSQL server ends within `days` days.",
    each: "certificate and number of days",
    severity: "warning; critical in its last 3 days",
    remedy: "Renew the certificate of the database server.",
    notes: ["It is read once an hour, on a connection of its own."],
  },
}

/** As one writes them. */
const { webhooks: _, ...defaults } = Schema.encodeSync(Alerts)(Schema.decodeSync(Alerts)({}))

const settingsOf = (rule: AlertRule): string =>
  Object.entries(defaults[rule] ?? {})
    .map(([name, value]) => `\`${name}: ${JSON.stringify(value).replaceAll(",", ", ")}\``)
    .join(", ")

const partOf = (rule: AlertRule): string => {
  const { holds, each, severity, remedy, notes = [] } = words[rule]
  return `
## \`${rule}\`

${[holds, ...notes].join("\n")}

- Settings: ${settingsOf(rule)}
- One alert for each: ${each}
- Severity: ${severity}
- What to do: ${remedy}
`
}

export const page = (): string => `# Alert rules

For operators: when each rule of [alerts](../alerts.md) holds, its settings with their defaults, and what to do.
Made by \`bun scripts/reference.ts\` from \`scripts/reference/alerts.ts\`; do not edit.

The settings of a rule are members of \`alerts.RULE\` in the [configuration](../configuration.md).
"While it lasts" marks a [state](../alerts.md#states).
${alertRules.map(partOf).join("")}`
