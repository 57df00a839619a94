/** Lines about alerts, figures, traces, and the log itself. */
import { type LogEvent, nothing } from "./LogEvent.ts"

export const watchEvents = {
  alert_warning: {
    level: "warn",
    text: "{text}",
    means: "A rule of `alerts` holds. `rule` names it, [alert rules](reference/alerts.md) explains it.",
    remedy: "As the rule says there.",
  },
  alert_critical: {
    level: "error",
    text: "{text}",
    means: "The same, of a rule that is critical.",
    remedy: "As the rule says there.",
  },
  alert_over: {
    level: "info",
    text: "no more: {text}",
    means: "The state that an alert reported is over.",
    remedy: nothing,
  },
  alert_given_up: {
    level: "error",
    text: "an alert was not delivered for a day, and is given up",
    means: "The webhook at `place` has not taken it.",
    remedy: "Look at the receiver; `fault` of `webhook_failing` says what it answered.",
  },
  webhook_failing: {
    level: "warn",
    text: "a webhook does not take alerts, which are sent again",
    means: "The first of failures in a row.",
    remedy: "Look at the receiver at `place`.",
  },
  webhook_back: {
    level: "info",
    text: "a webhook takes alerts again",
    means: "The end of `webhook_failing`.",
    remedy: nothing,
  },
  collector_failing: {
    level: "warn",
    text: "the collector of traces does not take all spans",
    means:
      "The first of spans that are lost; at most once a minute. No request waits for them (`headgate_trace_spans_dropped_total`).",
    remedy: "Look at the collector; `because` says what it answered.",
  },
  collector_back: {
    level: "info",
    text: "the collector of traces takes spans again",
    means: "The end of `collector_failing`. `spans` more were lost.",
    remedy: nothing,
  },
  spans_lost: {
    level: "warn",
    text: "spans were lost",
    means: "The process has ended before the collector had taken them.",
    remedy: "Look at the collector.",
  },
  app_tracer_failed: {
    level: "error",
    text: "the app's tracer failed",
    means: "The `Tracer` of the app threw when it was given a span.",
    remedy: "Look into the app.",
  },
  figures_failed: {
    level: "error",
    text: "figures could not be collected",
    means: "`/metrics` lacks some of them.",
    remedy: "Report it.",
  },
  metrics_served: {
    level: "info",
    text: "metrics are served",
    means: "At `at`, since `server.metrics.port` is set.",
    remedy: nothing,
  },
  log_lines_lost: {
    level: "warn",
    text: "{lines} lines of the log were lost: they were written faster than they were read",
    means: "Who reads standard error was slow, or did not read. No request waited (`headgate_log_lines_lost_total`).",
    remedy: "Look at what reads the log, or raise `HEADGATE_LOG_LEVEL`.",
  },
  other: {
    level: "any",
    text: "{text}",
    means: "A line of a library or of an app around the gateway, which gives it no name.",
    remedy: nothing,
  },
} as const satisfies Readonly<Record<string, LogEvent>>
