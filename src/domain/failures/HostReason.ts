/**
 * Why attempts at hosts fail. The gateway acts on nothing else of a failure, but for `retryAfterSeconds`:
 *
 * - The next host is tried after every failure before the first event. After `request` none of the same model is,
 *   unless the host's words say that only it refuses the request: `domain/routing/RefusedModels.ts`. Once something of
 *   a stream has reached the caller, the stream ends with an error in it.
 * - What counts against the host, and for how long it is not called again ("cools down"): `domain/failures/Verdict.ts`.
 * - When no host is left, the caller is answered for all of them: `services/dispatch/exhausted.ts`.
 */

/** What a host did, or did not. */
export type HostFault =
  /** No connection, or one that broke off, such as a stream that ended without a finish. */
  | "unreachable"
  /** The host or the gateway gave up waiting. */
  | "timeout"
  /** It refuses our credentials, or our account is out of credit: the operator's matter. Cools down. */
  | "account"
  /** It refuses this request by a rule of its own, such as moderation or a region. */
  | "forbidden"
  /** It does not know the model. Cools down. */
  | "not-found"
  /** It refuses the request itself. The caller sees `detail` and `code`. */
  | "request"
  /** It takes no more for now. Cools down, as long as `retryAfterSeconds` says. The caller sees `detail` if all did. */
  | "rate-limited"
  /** It is in trouble. Cools down only where `retryAfterSeconds` says for how long. */
  | "overloaded"
  /** What it sent is no answer of its protocol. */
  | "malformed"

/** What is not the host's fault, and never counts against it. A plugin does not use these. */
export type OwnReason =
  /** A hook of the host's plugin threw, or returned what it may not. The next host is tried. */
  | "plugin"
  /**
   * What the host sent exceeds a limit of the gateway. If it is an answer (an event or body that is too long, nested
   * too deep, or has too many values), the request ends and is charged, because every host would produce it. Anything
   * else, such as too many headers, leads to the next host.
   */
  | "limit"
  /** We have no descriptors, memory or disk left. No other host is tried. */
  | "shortage"
  /** An error in our own code. No other host is tried, and the caller gets a 500. */
  | "defect"
  /** The request could not be written or addressed, so nothing was sent. The next host is tried. */
  | "unsendable"
  /** The deadline of the request came before the host had its full time. */
  | "cut-short"
  /** The request was ended from outside, or another call of it was faster. */
  | "ended"

export type HostReason = HostFault | OwnReason

const reasons: Readonly<Record<HostReason, true>> = {
  unreachable: true,
  timeout: true,
  account: true,
  forbidden: true,
  "not-found": true,
  request: true,
  "rate-limited": true,
  overloaded: true,
  malformed: true,
  plugin: true,
  limit: true,
  shortage: true,
  defect: true,
  unsendable: true,
  "cut-short": true,
  ended: true,
}

/** Whether it is one of the reasons: a plugin in JavaScript may give any value. */
export const isHostReason = (reason: unknown): reason is HostReason =>
  typeof reason === "string" && Object.hasOwn(reasons, reason)
