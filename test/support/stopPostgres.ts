/** Preloaded by bunfig.toml: what ends when the last test of a run has ended. */
import { afterAll } from "bun:test"

afterAll(async () => {
  const { stopPostgres } = await import("./postgresServer.ts")
  await stopPostgres()
})
