/** A gateway in an app of Hono, below a prefix: the app decides who may call. `bun examples/hono/index.ts` serves it on port 3000. */
import { Gateway } from "headgate"
import echo from "headgate/providers/echo"
import { Hono } from "hono"

const gateway = await Gateway.handler({
  plugins: [echo],
  config: { storage: "memory:" },
  authenticate: (secret) => (secret === "a-session-of-ours" ? { id: "staff" } : null),
  prefix: "/llm",
})

const app = new Hono()
app.get("/", (c) => c.text("our own page"))
app.all("/llm/*", (c) => gateway.fetch(c.req.raw, c.env))

/** By default Bun closes a connection after ten silent seconds; a model may think for longer. */
const server = Bun.serve({ port: Number(process.env["PORT"] ?? 3000), idleTimeout: 0, fetch: app.fetch })
console.log(`serving at ${server.url}`)

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, async () => {
    await gateway.close()
    await server.stop()
  })
}
