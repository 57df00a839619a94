/** `alerts` of the configuration: rules with their thresholds, and webhooks. */
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { checkBaseUrl } from "../../catalogue/baseUrl.ts"
import { wholeNumber } from "../../catalogue/schema.ts"
import { required, setting } from "../../catalogue/setting.ts"
import { alertRules } from "../../domain/alerts/Alert.ts"
import { HeaderSecret, Secret } from "../../plugin/Secret.ts"
import { notNegative, share } from "./kinds.ts"

const enabled = setting("enabled", Schema.Boolean, {
  default: true,
  description: "`false`: the rule is off.",
})

const positive = Schema.Number.pipe(
  Schema.filter((written) => written > 0 && Number.isFinite(written), { description: "a number above 0" }),
)

const KeyBudget = Schema.Struct({
  enabled,
  percent: setting("percent", Schema.NonEmptyArray(wholeNumber(1, 100)), {
    default: [80, 100],
    description: "Percent of its limit that a key has spent, 1 to 100.",
  }),
}).annotations({ identifier: "KeyBudgetRuleInput" })

const DailySpend = Schema.Struct({
  enabled,
  factor: setting("factor", positive, {
    default: 2,
    description: "How many times the usual spend of a day: above 0.",
  }),
  days: setting("days", wholeNumber(3, 90), {
    default: 14,
    description:
      "Days before today whose median is usual, 3 to 90. Those without spend do not count; there have to be 3 others.",
  }),
  atLeastUsd: setting("at_least_usd", notNegative, {
    default: 10,
    description: "USD that the day has cost at least.",
  }),
}).annotations({ identifier: "DailySpendRuleInput" })

const UnchargedCost = Schema.Struct({
  enabled,
  share: setting("share", share, {
    default: 0.1,
    description: "Share of what the providers charge for a UTC day that no key pays, 0 to 1.",
  }),
  atLeastUsd: setting("at_least_usd", notNegative, {
    default: 1,
    description: "USD that it is at least.",
  }),
}).annotations({ identifier: "UnchargedCostRuleInput" })

const AccountRefused = Schema.Struct({ enabled }).annotations({ identifier: "AccountRefusedRuleInput" })

const ErrorRate = Schema.Struct({
  enabled,
  share: setting("share", share, {
    default: 0.2,
    description: "Share of the requests of the last 5 minutes that failed at hosts or in the gateway, 0 to 1.",
  }),
  minRequests: setting("min_requests", wholeNumber(1), {
    default: 50,
    description: "Requests within these minutes before the share counts, at least 1.",
  }),
}).annotations({ identifier: "ErrorRateRuleInput" })

const BreakerOpen = Schema.Struct({
  enabled,
  minutes: setting("minutes", wholeNumber(0, 1440), {
    default: 5,
    description: "Minutes that a circuit breaker is not closed, 0 to 1,440.",
  }),
}).annotations({ identifier: "BreakerOpenRuleInput" })

const LedgerBehind = Schema.Struct({
  enabled,
  seconds: setting("seconds", wholeNumber(0, 86_400), {
    default: 60,
    description: "Seconds for which the ledger takes no rows, 0 to 86,400.",
  }),
}).annotations({ identifier: "LedgerBehindRuleInput" })

const DiskSpace = Schema.Struct({
  enabled,
  freeMiB: setting("free_mib", wholeNumber(0), {
    default: 1024,
    description: "MiB that are free at least, where the database or its spool lies.",
  }),
}).annotations({ identifier: "DiskSpaceRuleInput" })

const CertificateEnds = Schema.Struct({
  enabled,
  days: setting("days", Schema.NonEmptyArray(wholeNumber(0, 366)), {
    default: [14, 3],
    description: "Days before the certificate of a PostgreSQL server ends, 0 to 366.",
  }),
}).annotations({ identifier: "CertificateEndsRuleInput" })

/** What stands for a variable that is not set, where secrets do not matter (`withUnsetSecrets`). */
const isUnset = (url: string): boolean => /^unset \S+$/.test(url)

/** What is wrong with the address of a webhook; `undefined`: nothing. It may have a query, which may be a secret. */
const urlFault = (url: string, network: "public" | "private"): string | undefined =>
  isUnset(url) ? undefined : checkBaseUrl(url.replace(/\?[^#]*/, ""), network)

const Webhook = Schema.Struct({
  url: required(
    HeaderSecret,
    'Where alerts are sent, https unless `network` is "private": a text, or `{ "env": "NAME" }` where the address is a secret, as that of Slack is.',
  ),
  secret: setting("secret", Schema.NullOr(Secret), {
    otherwise: null,
    description:
      '`{ "env": "NAME" }`: the variable of the environment with the secret that signs what is sent (docs/alerts.md). Required where `format` is "json".',
  }),
  format: setting("format", Schema.Literal("json", "slack"), {
    default: "json",
    description: 'The form of the body: "json", or "slack" for an incoming webhook of Slack.',
  }),
  network: setting("network", Schema.Literal("public", "private"), {
    default: "public",
    description: '"private": loopback and private addresses, and http, are allowed.',
  }),
  rules: setting("rules", Schema.NullOr(Schema.Array(Schema.Literal(...alertRules))), {
    otherwise: null,
    description: "Names of the rules that it is told of. Default: all.",
  }),
}).annotations({ identifier: "WebhookInput" })

const CheckedWebhook = Webhook.pipe(
  Schema.filter(({ url, secret, format, network }) => {
    const fault = urlFault(Redacted.value(url), network)
    const problems = fault === undefined ? [] : [{ path: ["url"], message: fault }]
    if (format === "json" && secret === null)
      problems.push({ path: ["secret"], message: 'expected a secret, which signs what is sent: { "env": "NAME" }' })
    return problems
  }),
)

export const Alerts = Schema.Struct({
  keyBudget: setting("key_budget", KeyBudget, {
    otherwise: {},
    description: "A key has spent so much of its limit.",
  }),
  dailySpend: setting("daily_spend", DailySpend, {
    otherwise: {},
    description: "A UTC day costs much more than days usually do.",
  }),
  unchargedCost: setting("uncharged_cost", UnchargedCost, {
    otherwise: {},
    description: "Much of what the providers charge is paid by no key.",
  }),
  accountRefused: setting("account_refused", AccountRefused, {
    otherwise: {},
    description: "A provider refuses our account.",
  }),
  errorRate: setting("error_rate", ErrorRate, {
    otherwise: {},
    description: "Many requests fail.",
  }),
  breakerOpen: setting("breaker_open", BreakerOpen, {
    otherwise: {},
    description: "A host is not called since it keeps failing.",
  }),
  ledgerBehind: setting("ledger_behind", LedgerBehind, {
    otherwise: {},
    description: "The database takes no rows of the ledger.",
  }),
  diskSpace: setting("disk_space", DiskSpace, {
    otherwise: {},
    description: "The disk is nearly full.",
  }),
  certificateEnds: setting("certificate_ends", CertificateEnds, {
    otherwise: {},
    description: "The certificate of the database's server is about to end.",
  }),
  webhooks: setting("webhooks", Schema.Array(CheckedWebhook), {
    default: [],
    description: "Where alerts are sent. They are in the log in any case.",
  }),
}).annotations({ identifier: "AlertsInput" })
