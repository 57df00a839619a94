/** What we lack ourselves is not the host's failure. docs/guarantees.md#g35 */
import { expect, test } from "bun:test"
import { join } from "node:path"
import { hello, rawServer } from "./rawServer.ts"

const script = `
import { closeSync, openSync } from "node:fs"
import { makeHttpClient } from ${JSON.stringify(join(import.meta.dir, "../../src/upstream/http1/client.ts"))}
const client = makeHttpClient()
const ask = (url) => new Promise((resolve) => client.exchange(
  { url, method: "POST", headers: {}, body: "{}", network: "private" },
  { head: () => {}, data: () => {}, end: () => resolve("answered"), failed: ({ reason }) => resolve(reason) },
))
const [open, dead] = process.argv.slice(-2)
const taken = []
try {
  for (;;) taken.push(openSync("/dev/null", "r"))
} catch {}
const short = await ask(open)
for (const one of taken.splice(0)) closeSync(one)
console.log(JSON.stringify([short, await ask(open), await ask(dead)]))
process.exit(0)
`

test("no descriptors were left, and the host was said to be unreachable", async () => {
  using server = rawServer({ onRequest: ({ peer }) => peer.write(hello) })
  const gone = rawServer({})
  gone.stop()
  const limited = `ulimit -n 100 && exec "$0" -e "$1" "$2" "$3"`
  const child = Bun.spawn(["sh", "-c", limited, process.execPath, script, server.url, gone.url], { stderr: "inherit" })
  expect(JSON.parse(await new Response(child.stdout).text())).toEqual(["shortage", "answered", "unreachable"])
})
