/** Lines about requests, and about what runs within them: plugins, observers, defects. */
import { type LogEvent, nothing } from "./LogEvent.ts"

export const requestEvents = {
  request: {
    level: "info",
    text: "request",
    means: "The [access log](access-log.md): a request has ended.",
    remedy: nothing,
  },
  plugin_message: {
    level: "any",
    text: "{text}",
    means: "A plugin says something by its own logger. `plugin` is its id.",
    remedy: "Ask the plugin's author.",
  },
  plugin_fault: {
    level: "error",
    text: "a plugin made a mistake",
    means:
      "A hook threw, or returned what the contract does not allow; the next host is tried. At most once a minute for each hook and host, with the number of `unlogged` ones.",
    remedy:
      "Report it to the plugin's author, with `hook`, `problem` and `thrown_at`. `headgate plugin test` tries the plugin.",
  },
  strategy_failed: {
    level: "error",
    text: "a strategy failed, the configured order was used",
    means:
      "It threw, lost or added a host, or took more than a second. The strategy stays on. Logged once for each strategy, then once an hour while it fails; `faults` counts the failures.",
    remedy: "Report it to the strategy's author, or choose another one (`routing.strategy`).",
  },
  strategy_unexplained: {
    level: "error",
    text: "a strategy failed to explain its order",
    means: "An explanation lacks the numbers. Routing is not touched.",
    remedy: "Report it to the strategy's author.",
  },
  answer_defect: {
    level: "error",
    text: "a defect while answering",
    means: "The caller got 500. The cause has the place in the code.",
    remedy: "Report it.",
  },
  priced_otherwise: {
    level: "warn",
    text: "{host} served the {served}, for which {model} has no price",
    means:
      "The answer was charged at the price of the host that was called, so the host's bill may differ. The ledger's row has `pricedOtherwise`. At most once a minute for each host and `served`, with the number of `unlogged` ones.",
    remedy:
      'Give the model a host of that tier, speed or region (`variant: "priority"`, `"flex"`, `"fast"`, `"us"`) with its prices, or change the setting at the vendor.',
  },
  answer_unbooked: {
    level: "error",
    text: "an answer was not booked in time",
    means:
      "In an app with a `Meter` of its own: its `settle` had not ended when the request was over. The caller got 503; the booking goes on.",
    remedy: "Look why the app's `Meter` does not end. What its `settle` did not book is not in the ledger.",
  },
  stream_defect: {
    level: "error",
    text: "a defect in a stream",
    means: "The stream was ended with an error.",
    remedy: "Report it.",
  },
  observer_failed: {
    level: "error",
    text: "an observer of requests failed",
    means: "Figures, records or traces lack this request. Its answer is not touched.",
    remedy: "Report it.",
  },
  claim_not_ended: {
    level: "error",
    text: "a claim could not be given up",
    means: "A request with the same Idempotency-Key is refused until the claim is over by itself.",
    remedy: "Report it.",
  },
  request_stopped: {
    level: "info",
    text: "a request was stopped",
    means:
      "By `DELETE /api/v1/requests/live/{request_id}`; `actor` is the hash of the management key. The audit log has it too.",
    remedy: nothing,
  },
  stop_not_audited: {
    level: "error",
    text: "the audit log lacks that a request was stopped",
    means: "The request was stopped while the database could not be written.",
    remedy: "Keep this line.",
  },
  authenticate_failed: {
    level: "error",
    text: "authenticate failed",
    means: "The app's own function `authenticate` threw or rejected. The caller got 503.",
    remedy: "Look into the app.",
  },
  background_defect: {
    level: "error",
    text: "a defect in {what}",
    means:
      "Work in the background threw. It goes on with its next round; only the first of several in a row is logged.",
    remedy: "Report it.",
  },
  proxy_not_trusted: {
    level: "warn",
    text: "a request seems to come through a proxy, and server.trusted_proxies is not set: the proxy's address is taken for the caller's",
    means: "Logged once. A request had `X-Forwarded-For` or `Forwarded`; a caller may write these, too.",
    remedy: "If there is a proxy, set `server.trusted_proxies` ([deployment](deployment.md)).",
  },
} as const satisfies Readonly<Record<string, LogEvent>>
