/** What a running stream keeps in memory. docs/guarantees.md#g18 */

import { heapStats } from "bun:jsc"
import { test } from "bun:test"
import { until } from "../support/clocks/until.ts"
import { openAccount } from "../support/gateways/account.ts"
import { closeAfterEach, opened, startWatched } from "../support/gateways/watched.ts"
import { chunkOf, configFor } from "../support/hosts/host.ts"
import { event, rawHost, streamHead } from "../support/hosts/rawHost.ts"

closeAfterEach()

test("a running stream does not keep its caller's prompt", async () => {
  const host = opened(
    rawHost((peer) => {
      peer.write(streamHead)
      peer.write(event(chunkOf({ delta: { content: "one" }, finish_reason: null })))
    }),
  )
  const config = configFor({ a: host }, { server: { drain_s: 0 } })
  const [model] = config.models
  if (model !== undefined) model.context_length = 100_000_000
  const gateway = await startWatched({ config })
  const { secret } = await openAccount(gateway)
  const megabytes = 40
  const open = async () => {
    const content = "a ".repeat(524_288)
    const messages = [{ role: "user", content }]
    const response = await gateway.chat(
      { model: "acme/small", messages, stream: true, max_tokens: 5 },
      { headers: { authorization: `Bearer ${secret}` } },
    )
    const reader = response.body?.getReader()
    await reader?.read()
    return reader
  }
  const live = () => {
    Bun.gc(true)
    const { heapSize, extraMemorySize } = heapStats()
    return heapSize + extraMemorySize
  }
  await open()
  const before = live()
  const readers = []
  for (let at = 0; at < megabytes; at++) readers.push(await open())
  await until(() => (live() - before) / 1_048_576 < megabytes / 4, "the release of the prompts")
  for (const reader of readers) await reader?.cancel()
})
