/**
 * How an answer that had begun ended.
 *
 * - `finished`: the host completed it.
 * - `host-failed`: the host broke off after output had been sent. Free to the caller.
 * - `cut`: the gateway ended it: budget, deadline, drain, a stalled or slow caller.
 * - `caller-gone`: the caller closed the connection.
 * - `crashed`: the gateway was killed. Charged by what was known to be delivered.
 * - `lost`: a second call of the same request that another one was faster than. Free to the caller.
 */
export type AnswerOutcome = "finished" | "host-failed" | "cut" | "caller-gone" | "lost" | "crashed"
