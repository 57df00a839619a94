/** Lines about hosts, keys of providers, and calls. */
import { type LogEvent, nothing } from "./LogEvent.ts"

export const hostEvents = {
  breaker_opened: {
    level: "warn",
    text: "a circuit breaker opened",
    means:
      "A host failed several times in a row (`reason`; `fault`: what kept it from being reached). It gets no calls but probes.",
    remedy: "Look at the host's status page. Other hosts of the model take its requests.",
  },
  breaker_closed: {
    level: "info",
    text: "a circuit breaker closed",
    means: "A probe was answered: the host gets calls again.",
    remedy: nothing,
  },
  host_rests: {
    level: "warn",
    text: "a host is left alone for a while",
    means:
      "It answered that a rate limit is used up, or that it does not have the model (`reason`). It is tried again after `for_s` seconds.",
    remedy: "With `rate-limited`: ask the vendor for a higher limit, or add keys (`api_keys`) or hosts.",
  },
  account_refused: {
    level: "error",
    text: "a host refuses our account",
    means:
      "The key is wrong, was revoked, or has no credit left. `provider` and `key` say which: the variable that the key came from, `plain text` where it stands in the configuration, `none` where there is none.",
    remedy: "`headgate doctor PROVIDER`. Put a valid key into that variable and restart, or pay the vendor.",
  },
  host_back: {
    level: "info",
    text: "a host answers again after it was left alone",
    means: "The first answer after `host_rests` or `account_refused`.",
    remedy: nothing,
  },
  provider_key_rests: {
    level: "warn",
    text: "one of several keys of a provider is left alone",
    means: "Its host refused it, or its rate limit is used up (`reason`). The other keys of the provider are used.",
    remedy: "With `account` or `forbidden`: replace the key that `key` names.",
  },
  provider_key_back: {
    level: "info",
    text: "a key of a provider is used again",
    means: "The first call with it after `provider_key_rests`.",
    remedy: nothing,
  },
  provider_spend_not_read: {
    level: "warn",
    text: "what keys of providers have spent could not be read",
    means: "Limits of `api_keys` are kept by what was read before.",
    remedy: "Look at the database.",
  },
  attempt_failed: {
    level: "debug",
    text: "a host failed",
    means: "One attempt. The next host of the plan is tried.",
    remedy:
      "`headgate requests` and the access log have requests that failed; `breaker_opened` says that a host is down.",
  },
  request_refused_by_host: {
    level: "debug",
    text: "a host refused a request",
    means: "It found the request wrong. That is the caller's matter.",
    remedy: nothing,
  },
  host_cut_short: {
    level: "debug",
    text: "a host was cut short by the deadline",
    means: "The time of the request was over before the host had all of its own.",
    remedy: "If it is frequent: a longer `limits.deadline_ms`, or a shorter time for each attempt.",
  },
  request_unsendable: {
    level: "debug",
    text: "a request could not be written",
    means: "It cannot be said in the words of this host. Another host is tried.",
    remedy: nothing,
  },
  answer_over_limit: {
    level: "warn",
    text: "an answer exceeds a limit of the gateway",
    means:
      "It was too long, nested too deep, or had too many values. It is charged if it began as an answer. At most once a minute for each host.",
    remedy: "If such answers are wanted: raise the limit of `limits` that `code` or the cause names.",
  },
  gateway_short: {
    level: "error",
    text: "the gateway has no descriptors, memory or ports left",
    means: "A host could not be called because of this machine. At most once a minute for each host.",
    remedy: "Raise `ulimit -n` or the memory, or lower `limits.max_in_flight`.",
  },
  request_resent: {
    level: "debug",
    text: "a request was sent again: the host had closed the kept connection",
    means: "The host had not read it. That is usual, and no retry.",
    remedy: nothing,
  },
  host_stats_ignored: {
    level: "warn",
    text: "kept statistics of hosts are ignored: unknown, or not readable",
    means: "`ignored` entries of the database are of hosts that are no longer configured, or of another version.",
    remedy: nothing,
  },
  host_stats_not_read: {
    level: "warn",
    text: "host statistics could not be read",
    means: "Routing begins without what was seen of hosts before.",
    remedy: "Look at the database.",
  },
  host_stats_not_written: {
    level: "warn",
    text: "host statistics could not be written",
    means: "They are written later. What was seen meanwhile is lost when the process ends.",
    remedy: "Look at the database.",
  },
  local_server_found: {
    level: "info",
    text: "Found {server} at {url}: {models} models{such}.",
    means: "A model server on this machine is used.",
    remedy: "`discovery.local: false` where that is not wanted.",
  },
  local_server_gone: {
    level: "info",
    text: "{server} at {url} does not answer any more.",
    means: "Its models are no longer offered.",
    remedy: nothing,
  },
  local_server_without_models: {
    level: "warn",
    text: '{server} was not looked for: its plugin "{plugin}" lists no models.',
    means: "The plugin cannot ask a server what is installed.",
    remedy: "Configure the models of that server.",
  },
} as const satisfies Readonly<Record<string, LogEvent>>
