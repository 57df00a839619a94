/** Alerts in a database, in SQL that SQLite and PostgreSQL share. */
import type { SqlClient } from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import type { AlertState } from "../../domain/alerts/Alert.ts"
import type { KeptAlert } from "../../domain/alerts/bodies.ts"
import type { AlertReceiver, AlertRepository } from "../../services/storage/alerts.ts"
import { query } from "../tables/query.ts"
import { originalText, storedText } from "../tables/table.ts"
import { serverNow } from "./journalRepository.ts"

interface StoredAlert {
  readonly content: string
  readonly resolved_at: number | string | null
}

interface ListedRow extends StoredAlert {
  readonly id: string
  readonly created_at: number | string
  readonly seen_at: number | string
}

/** A place in the list: when the alert was kept, and its id. */
const place = /^(\d{1,15})\.([0-9a-f]{1,64})$/

interface ClaimedDelivery extends StoredAlert {
  readonly alert_id: string
  readonly state: AlertState
  readonly created_at: number | string
  readonly attempts: number | string
}

/** `contentOf` wrote it. */
const keptOf = ({ content, resolved_at }: StoredAlert): KeptAlert => ({
  ...(JSON.parse(originalText(content)) as KeptAlert),
  resolvedAt: resolved_at === null ? null : Number(resolved_at),
})

const contentOf = (kept: KeptAlert): string => storedText(JSON.stringify({ ...kept, resolvedAt: null }))

const isTold = ({ rules }: AlertReceiver, { alert }: KeptAlert): boolean => rules?.includes(alert.rule) ?? true

/** Milliseconds. A lease or a wait that ends later was written while the clock was wrong, and does not count. */
const farMs = 7_200_000

export const makeAlertRepository = (sql: SqlClient): AlertRepository => {
  const isShared = sql.onDialectOrElse({ pg: () => true, orElse: () => false })
  /** Leases count by the clock that all processes share. */
  const clock = (now: number) => (isShared ? serverNow(sql) : sql`${now}`)

  const addDeliveries = (kept: KeptAlert, state: AlertState, at: number, receivers: ReadonlyArray<AlertReceiver>) => {
    const rows = receivers
      .filter((receiver) => isTold(receiver, kept))
      .map(({ webhook }) => ({
        alert_id: kept.id,
        webhook,
        state,
        created_at: at,
        due_at: at,
        attempts: 0,
        lease_until: 0,
      }))
    return rows.length === 0
      ? Effect.void
      : Effect.asVoid(sql`INSERT INTO alert_deliveries ${sql.insert(rows)} ON CONFLICT DO NOTHING`)
  }

  return {
    page: (after, limit, isFiring) => {
      const [, createdAt = "", id = ""] = place.exec(after) ?? []
      const conditions = [
        ...(id === ""
          ? []
          : [sql`(created_at < ${Number(createdAt)} OR (created_at = ${Number(createdAt)} AND id < ${id}))`]),
        ...(isFiring ? [sql`resolved_at IS NULL`] : []),
      ]
      const rows = query(sql<ListedRow>`SELECT id, content, created_at, seen_at, resolved_at FROM alerts
        WHERE ${sql.and(conditions)} ORDER BY created_at DESC, id DESC LIMIT ${limit + 1}`)
      return Effect.map(rows, (all) => {
        const found = all.slice(0, limit)
        const last = all.length > limit ? found.at(-1) : undefined
        return {
          found: found.map((row) => ({ kept: keptOf(row), seenAt: Number(row.seen_at) })),
          next: last === undefined ? null : `${Number(last.created_at)}.${last.id}`,
        }
      })
    },
    insert: ({ rule, subject, period }, kept, receivers) =>
      query(
        sql.withTransaction(
          Effect.gen(function* () {
            const at = kept.createdAt
            const row = {
              id: kept.id,
              rule,
              subject: storedText(subject),
              period: storedText(period),
              content: contentOf(kept),
              created_at: at,
              seen_at: at,
              resolved_at: kept.alert.period === null ? null : at,
            }
            const inserted = yield* sql`INSERT INTO alerts ${sql.insert(row)} ON CONFLICT DO NOTHING RETURNING id`
            if (inserted.length === 0) return false
            yield* addDeliveries(kept, "firing", at, receivers)
            return true
          }),
        ),
      ),
    seen: ({ rule, subject, period }, now) => {
      const which = period === null ? sql`resolved_at IS NULL` : sql`period = ${storedText(period)}`
      return Effect.map(
        query(
          sql`UPDATE alerts SET seen_at = ${now}
            WHERE rule = ${rule} AND subject = ${storedText(subject)} AND ${which} RETURNING id`,
        ),
        (rows) => rows.length > 0,
      )
    },
    resolve: (seenBefore, now, receivers) =>
      query(
        sql.withTransaction(
          Effect.gen(function* () {
            const over = yield* sql<StoredAlert>`UPDATE alerts SET resolved_at = ${now}
              WHERE resolved_at IS NULL AND seen_at < ${seenBefore} RETURNING content, resolved_at`
            const resolved = over.map(keptOf)
            yield* Effect.forEach(resolved, (kept) => addDeliveries(kept, "resolved", now, receivers), {
              discard: true,
            })
            return resolved
          }),
        ),
      ),
    claim: (webhook, now, leaseMs, limit) => {
      const isFree = (lease: string) =>
        sql`(${sql.literal(lease)} <= ${clock(now)} OR ${sql.literal(lease)} > ${clock(now)} + ${sql.literal(`${farMs}`)})`
      return query(
        sql.withTransaction(
          Effect.gen(function* () {
            const claimed = yield* sql<Pick<ClaimedDelivery, "alert_id" | "state">>`
              UPDATE alert_deliveries SET lease_until = ${clock(now)} + ${sql.literal(`${leaseMs}`)}
              WHERE webhook = ${webhook} AND ${isFree("lease_until")} AND (alert_id, state) IN (
                SELECT d.alert_id, d.state FROM alert_deliveries d
                WHERE d.webhook = ${webhook} AND (d.due_at <= ${now} OR d.due_at > ${now + farMs}) AND ${isFree("d.lease_until")}
                  AND NOT (d.state = 'resolved' AND EXISTS (
                    SELECT 1 FROM alert_deliveries b
                    WHERE b.alert_id = d.alert_id AND b.webhook = d.webhook AND b.state = 'firing'
                  ))
                ORDER BY d.due_at LIMIT ${limit}
              ) RETURNING alert_id, state`
            if (claimed.length === 0) return []
            const ids = claimed.map(({ alert_id }) => alert_id)
            const rows = yield* sql<ClaimedDelivery>`
              SELECT d.alert_id, d.state, d.created_at, d.attempts, a.content, a.resolved_at
              FROM alert_deliveries d JOIN alerts a ON a.id = d.alert_id
              WHERE d.webhook = ${webhook} AND ${sql.in("d.alert_id", ids)} ORDER BY d.created_at`
            return rows
              .filter((row) => claimed.some(({ alert_id, state }) => alert_id === row.alert_id && state === row.state))
              .map((row) => ({
                kept: keptOf(row),
                state: row.state,
                webhook,
                createdAt: Number(row.created_at),
                attempts: Number(row.attempts),
              }))
          }),
        ),
      )
    },
    close: ({ alertId, webhook, state }) =>
      Effect.asVoid(
        query(
          sql`DELETE FROM alert_deliveries WHERE alert_id = ${alertId} AND webhook = ${webhook} AND state = ${state}`,
        ),
      ),
    postpone: ({ alertId, webhook, state }, dueAt) =>
      Effect.asVoid(
        query(
          sql`UPDATE alert_deliveries SET attempts = attempts + 1, due_at = ${dueAt}, lease_until = 0
            WHERE alert_id = ${alertId} AND webhook = ${webhook} AND state = ${state}`,
        ),
      ),
    prune: (alertsBefore, deliveriesBefore) =>
      query(
        Effect.zipRight(
          sql`DELETE FROM alert_deliveries WHERE created_at < ${deliveriesBefore}`,
          Effect.asVoid(sql`DELETE FROM alerts WHERE resolved_at IS NOT NULL AND seen_at < ${alertsBefore}`),
        ),
      ),
  }
}
