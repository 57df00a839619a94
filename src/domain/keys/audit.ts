/**
 * The audit log: changes of keys and of the configuration, and sessions of management keys, chained by hashes, so that a row cannot be changed, removed or moved unnoticed. Whoever can
 * write the database can also compute a new chain; the hash of its last row, kept elsewhere, shows that too.
 */
import type { KeyId } from "../ids.ts"

/**
 * The management key that asked for a change; `gateway`: the program itself, as at its first start; `signal`: whoever sent the process
 * a signal.
 */
export type Actor = KeyId | "gateway" | "signal"

/** Who changes something, and when (Unix milliseconds). */
export interface Author {
  readonly actor: Actor
  readonly at: number
}

export interface AuditedChange {
  readonly action:
    | "key.create"
    | "key.update"
    | "key.rotate"
    | "key.delete"
    | "config.reload"
    | "request.stop"
    | "session.create"
    | "session.delete"
  /** The id of the changed key; the path of the configuration file; the id of the stopped request; the hash of the session's id. */
  readonly object: string
  /** JSON: `{"member": [before, after], …}` for what is different; null where it was or is absent. No secrets. */
  readonly changes: string
}

export interface AuditEntry extends Omit<AuditedChange, "action"> {
  /** 1, 2, 3, … */
  readonly seq: number
  readonly at: number
  readonly actor: string
  readonly action: string
  readonly hash: string
}

/** The last row: its number and hash. It tells when the end of the log is missing. */
export interface AuditHead {
  readonly seq: number
  readonly hash: string
}

/** Before the first row. */
export const emptyHead: AuditHead = { seq: 0, hash: "0".repeat(64) }

/** Lower-case hex SHA-256 of the previous row's hash and this row. */
export const auditHash = (
  previous: string,
  { seq, at, actor, action, object, changes }: Omit<AuditEntry, "hash">,
): string => Bun.SHA256.hash(previous + JSON.stringify([seq, at, actor, action, object, changes]), "hex")

type Value = string | number | boolean | null

/** `changes` of a row: the members of two records that differ. An absent record has none. */
export const changesBetween = (
  before: Readonly<Record<string, Value>>,
  after: Readonly<Record<string, Value>>,
): string => {
  const members = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  const pairs = members.map((member) => [member, [before[member] ?? null, after[member] ?? null]] as const)
  return JSON.stringify(Object.fromEntries(pairs.filter(([, [from, to]]) => from !== to)))
}

/** Why the chain breaks at a row. */
export interface BrokenChain {
  readonly seq: number
  readonly why: string
}

/** The chain after one more row, or why that row does not follow. Rows come in the order of their numbers. */
export const follow = (head: AuditHead, entry: AuditEntry): AuditHead | BrokenChain => {
  const seq = head.seq + 1
  if (entry.seq > seq) return { seq, why: "is missing" }
  if (auditHash(head.hash, entry) !== entry.hash)
    return { seq, why: "was changed, or stands in another place than it was written" }
  return { seq, hash: entry.hash }
}

/** Whether the chain ends where the head says; `undefined` when it does. */
export const brokenEnd = (last: AuditHead, head: AuditHead | undefined): BrokenChain | undefined => {
  if (head === undefined)
    return { seq: last.seq, why: "is the last one, but the record of the end of the log is missing" }
  if (last.seq < head.seq) return { seq: last.seq + 1, why: "is missing" }
  if (last.seq > head.seq) return { seq: head.seq + 1, why: "was added after the recorded end of the log" }
  return last.hash === head.hash ? undefined : { seq: last.seq, why: "is not the row that was written last" }
}
