/**
 * The limit: the least that a proxy on Bun can do. Non-streaming answers: JSON parsed and written in both directions.
 * Streams: the host's body handed to Bun, which pipes it natively; no JavaScript runs per chunk.
 * Arguments: `--port N --upstream URL` (with the version segment).
 */
import { parseArgs } from "node:util"

const { values } = parseArgs({ options: { port: { type: "string" }, upstream: { type: "string" } } })
const url = `${values.upstream}/chat/completions`

Bun.serve({
  hostname: "127.0.0.1",
  port: Number(values.port),
  idleTimeout: 0,
  routes: {
    "/api/v1/chat/completions": {
      POST: async (request) => {
        const asked = JSON.parse(await request.text())
        const answer = await fetch(url, {
          method: "POST",
          headers: { "Content-Type": "application/json", Authorization: "Bearer x" },
          body: JSON.stringify(asked),
        })
        const headers = { "Content-Type": answer.headers.get("Content-Type") ?? "application/json" }
        if (asked.stream === true) return new Response(answer.body, { status: answer.status, headers })
        return new Response(JSON.stringify(JSON.parse(await answer.text())), { status: answer.status, headers })
      },
    },
  },
})
process.on("SIGTERM", () => process.exit(0))
