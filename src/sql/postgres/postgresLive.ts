/** What processes ask each other about the requests that run, in PostgreSQL: a table of questions, one of answers, and notices. */
import type { SqlClient } from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import type { LiveAnswer, LiveRepository } from "../../services/storage/SharedRepositories.ts"
import { serverNow } from "../repositories/journalRepository.ts"
import { query } from "../tables/query.ts"
import { originalText, storedText } from "../tables/table.ts"
import { notifyAnswered, notifyAsked, openMs } from "./postgresEvents.ts"

export const makeLiveRepository = (sql: SqlClient): LiveRepository => {
  const now = serverNow(sql)
  const others = (process: string) =>
    sql<{ readonly process: string }>`SELECT process FROM leases WHERE process <> ${process} AND ends_at > ${now}`
  const put = (process: string, id: string, stop: string | null) =>
    Effect.gen(function* () {
      // Answers go with their questions.
      yield* sql`DELETE FROM live_questions WHERE asked_at <= ${now} - ${openMs}::bigint`
      yield* sql`INSERT INTO live_questions (id, process, stop, asked_at) VALUES (${id}, ${process}, ${stop}, ${now})`
      yield* notifyAsked(sql)
    })
  return {
    ask: (process, { id, stop }) =>
      Effect.flatMap(query(others(process)), (rows) =>
        Effect.as(
          rows.length === 0 ? Effect.void : query(sql.withTransaction(put(process, id, stop))),
          rows.map((row) => row.process),
        ),
      ),
    // Nothing where the question was closed, or this process has answered it.
    answer: (question, { process, content }) =>
      query(
        sql.withTransaction(
          Effect.zipRight(
            sql`INSERT INTO live_answers (question, process, content)
              SELECT id, ${process}, ${storedText(content)} FROM live_questions WHERE id = ${question} FOR KEY SHARE
              ON CONFLICT DO NOTHING`,
            Effect.asVoid(notifyAnswered(sql, question)),
          ),
        ),
      ),
    answers: (question) =>
      Effect.map(
        query(sql<LiveAnswer>`SELECT process, content FROM live_answers WHERE question = ${question}`),
        (rows) => rows.map(({ process, content }) => ({ process, content: originalText(content) })),
      ),
    close: (question) => Effect.asVoid(query(sql`DELETE FROM live_questions WHERE id = ${question}`)),
  }
}
