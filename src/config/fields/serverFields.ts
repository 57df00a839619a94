/** `server` of the configuration: where it listens, which proxies and pages it trusts, how it stops, its metrics, and what it records of requests. */
import * as Schema from "effect/Schema"
import ipaddr from "ipaddr.js"
import { wholeNumber } from "../../catalogue/schema.ts"
import { setting } from "../../catalogue/setting.ts"
import { forwardedHeaders } from "../../domain/addresses/ForwardedHops.ts"
import { readRange } from "../../domain/addresses/ipRange.ts"
import { mostProxies } from "../../domain/addresses/TrustedProxies.ts"
import { publicText } from "./kinds.ts"

/** A TCP port; 0 takes any free one. */
export const Port = wholeNumber(0, 65535)

const label = /^(?!-)[\w-]{1,63}(?<!-)$/

const isHostname = (written: string): boolean => {
  if (ipaddr.IPv4.isValidFourPartDecimal(written) || ipaddr.IPv6.isValid(written)) return true
  const labels = written.split(".")
  // A name does not end in a number: that would be an IPv4 address, and it is none.
  return written.length <= 253 && labels.every((each) => label.test(each)) && !/^\d+$/.test(labels.at(-1) ?? "")
}

/** Where to listen. */
export const Hostname = publicText("an IP address or a host name", isHostname)

/** Proxies by address, or how many. Ranges are looked at here, since a union would not say which one is wrong. */
const Proxies = Schema.Union(wholeNumber(0, mostProxies), Schema.Array(Schema.String)).pipe(
  Schema.filter((trusted) =>
    typeof trusted === "number"
      ? []
      : trusted.flatMap((written, at) => {
          const range = readRange(written)
          return typeof range === "string" ? [{ path: [at], message: range }] : []
        }),
  ),
)

const origin = publicText(
  '"*" or an origin such as "https://app.example"',
  (written) => written === "*" || (URL.canParse(written) && new URL(written).origin === written),
)

/** An address of this server for browsers. */
const isPublicUrl = (written: string): boolean => {
  const url = URL.parse(written)
  return url !== null && /^https?:$/.test(url.protocol) && `${url.origin}${url.pathname}`.replace(/\/$/, "") === written
}

const publicUrl = publicText(
  'an address such as "https://gateway.acme.example", without a slash at its end',
  isPublicUrl,
)

const Metrics = Schema.Struct({
  enabled: setting("enabled", Schema.Boolean, {
    default: true,
    description: "Whether figures are counted. `false`: nothing is, and there is no `/metrics`.",
  }),
  port: setting("port", Schema.NullOr(Port), {
    default: null,
    description:
      "TCP port of a listener for `/metrics` alone, 0 to 65535; 0: any free one. Default: `/metrics` is on `server.port`.",
  }),
  hostname: setting("hostname", Hostname, {
    default: "127.0.0.1",
    description: "Address of that listener. Without a port of its own it has no effect.",
  }),
  open: setting("open", Schema.Boolean, {
    default: false,
    description:
      "Whether anybody may read `/metrics`: models, hosts and spend. Otherwise it needs a management key or `HEADGATE_METRICS_TOKEN`.",
  }),
  budgetKeys: setting("budget_keys", wholeNumber(0, 200), {
    default: 0,
    description:
      "How many keys `/metrics` names with their remaining budget, 0 to 200: the newest ones that have a limit.",
  }),
}).annotations({ identifier: "MetricsInput" })

export const Server = Schema.Struct({
  hostname: setting("hostname", Hostname, {
    default: "127.0.0.1",
    description: "Address to listen on: 127.0.0.1 is this machine alone, 0.0.0.0 every network.",
  }),
  port: setting("port", Port, {
    default: 8787,
    description: "TCP port, 0 to 65535; 0: any free one.",
  }),
  workers: setting("workers", wholeNumber(1, 64), {
    default: 1,
    description: "Processes that share the port, 1 to 64. More than one need PostgreSQL and Linux.",
  }),
  trustedProxies: setting("trusted_proxies", Proxies, {
    default: [],
    description:
      "Proxies in front of the gateway whose word on the caller's address is taken: their addresses or ranges (CIDR), or how many of them every request passes, 0 to 100 (docs/deployment.md).",
  }),
  forwardedHeader: setting("forwarded_header", Schema.Literal(...forwardedHeaders), {
    default: "x-forwarded-for",
    description:
      "The header that trusted proxies write; no other is read. `x-forwarded-for` or `forwarded` (RFC 7239).",
  }),
  trustTraceparent: setting("trust_traceparent", Schema.Boolean, {
    default: false,
    description:
      "Whether every caller may say by `traceparent` to which trace its request belongs, and whether that is sampled (docs/traces.md).",
  }),
  corsOrigins: setting("cors_origins", Schema.Array(origin), {
    default: ["*"],
    description: 'Origins whose pages may call models and read the listings, such as "https://app.example"; "*": all.',
  }),
  publicUrl: setting("public_url", Schema.NullOr(publicUrl), {
    default: null,
    description:
      'The address that browsers use, such as "https://gateway.acme.example". Behind a proxy with TLS it has to be given for signing in (docs/console.md).',
  }),
  console: setting("console", Schema.Boolean, {
    default: true,
    description: "Whether the console is at `/console`.",
  }),
  drainSeconds: setting("drain_s", wholeNumber(0, 86_400), {
    default: 30,
    description: "Seconds that running requests get to end when the gateway stops, 0 to 86,400.",
  }),
  drainDelaySeconds: setting("drain_delay_s", wholeNumber(0, 3600), {
    default: 0,
    description:
      "Seconds between the signal to stop and the closing of the port, 0 to 3,600: requests are still served, `/readyz` says 503. For gateways behind a balancer (docs/deployment.md).",
  }),
  accessLog: setting("access_log", Schema.Literal("all", "errors", "off"), {
    default: "errors",
    description:
      'Of which requests the log has a line: "all", "errors" for those that were refused or failed, or "off" (docs/access-log.md).',
  }),
  serverTiming: setting("server_timing", Schema.Boolean, {
    default: false,
    description:
      "Whether whole answers say in the header `Server-Timing` what their time was spent on (docs/access-log.md).",
  }),
  metrics: setting("metrics", Metrics, {
    otherwise: {},
    description: "Figures of the gateway for those who watch it.",
  }),
  openMetrics: setting("open_metrics", Schema.Boolean, {
    otherwise: false,
    description: "Earlier name of `server.metrics.open`. It is still read, with a warning.",
  }),
}).annotations({ identifier: "ServerInput" })
