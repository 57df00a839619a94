/** When the certificate of a PostgreSQL server ends, by a connection of its own: those of the pool may be older than the certificate in use. */
import { TLSSocket } from "node:tls"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Pg from "pg"
import { driverUrl } from "../../domain/json/postgresUrl.ts"

/** Unix milliseconds; `undefined`: the connection has no TLS, or there was none. It takes `connectMs` at most. */
export const certificateEnd = (url: Redacted.Redacted, connectMs: number): Effect.Effect<number | undefined> =>
  Effect.acquireUseRelease(
    Effect.sync(() => {
      const client = new Pg.Client({
        connectionString: driverUrl(Redacted.value(url)),
        connectionTimeoutMillis: connectMs,
        application_name: "headgate certificate",
      })
      client.on("error", () => {})
      return client
    }),
    (client) =>
      Effect.map(
        Effect.tryPromise(() => client.connect()),
        () => {
          const { stream } = client.connection
          if (!(stream instanceof TLSSocket)) return undefined
          const end = Date.parse(stream.getPeerCertificate().valid_to)
          return Number.isNaN(end) ? undefined : end
        },
      ),
    (client) =>
      Effect.ignore(
        Effect.timeout(
          Effect.tryPromise(() => client.end()),
          connectMs,
        ),
      ),
  ).pipe(Effect.orElseSucceed(() => undefined))
