/** An app that embeds the gateway. `packed.test.ts` runs it outside of this repository, from the packed package. */
import { checks, dispose, handler, reason } from "./gateway"

const server = Bun.serve({ port: 0, idleTimeout: 0, fetch: (request) => handler(request) })

const answer = await fetch(`${server.url}api/v1/chat/completions`, {
  method: "POST",
  headers: { authorization: "Bearer anything", "content-type": "application/json" },
  body: JSON.stringify({ model: "headgate/echo", messages: [{ role: "user", content: "one two" }] }),
})
const pluginOf = (name: string) => Bun.resolveSync("headgate/plugin", Bun.resolveSync(name, import.meta.dir))

console.log(
  JSON.stringify({
    status: answer.status,
    body: await answer.json(),
    checks: checks.length,
    reason,
    effects: [import.meta.dir, Bun.resolveSync("headgate", import.meta.dir)].map((from) =>
      Bun.resolveSync("effect/Effect", from),
    ),
    contracts: [pluginOf("headgate"), pluginOf("headgate/providers/openai")],
  }),
)
await server.stop(true)
await dispose()
