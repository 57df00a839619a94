/** What is left of requests when the gateway is killed. docs/guarantees.md#g2 and #g3 */

import { Database } from "bun:sqlite"
import { afterEach, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import { keyId } from "../../../src/domain/keys/keySecret.ts"
import { Storage } from "../../../src/services/storage/Storage.ts"
import { until } from "../../support/clocks/until.ts"
import { firstKey, install, killPatience, killRounds, reportKills } from "../../support/gateways/process.ts"
import { chunkOf, configFor, scriptedHost, wholeAnswer } from "../../support/hosts/host.ts"

const closing: Array<() => unknown> = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

const streams = 6
const token = "four"
const picodollarsPerToken = 2_000_000n

/** A stream that says a token every few milliseconds, as long as it is read. */
const talking = () =>
  new Response(
    new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        await Bun.sleep(5)
        const chunk = chunkOf({ delta: { content: token }, finish_reason: null })
        controller.enqueue(new TextEncoder().encode(`data: ${chunk}\n\n`))
      },
    }),
    { headers: { "content-type": "text/event-stream" } },
  )

interface Listening {
  readonly id: string
  /** What has come so far. */
  text: string
}

/** Reads the database beside the gateway. */
const inDatabase = <Row>(path: string, statement: string): ReadonlyArray<Row> => {
  const db = new Database(path, { readonly: true })
  try {
    return db.query<Row, []>(statement).all()
  } finally {
    db.close()
  }
}

/** Output tokens of the streams in the journal, by generation id. */
const checkpoints = (path: string): ReadonlyMap<string, number> =>
  new Map(
    inDatabase<{ settled_as: string }>(path, "SELECT settled_as FROM open_requests WHERE state = 'streaming'").map(
      ({ settled_as }) => {
        const { generationId, completionTokens } = JSON.parse(settled_as)
        return [generationId, completionTokens]
      },
    ),
  )

interface Row {
  readonly generation_id: string
  readonly outcome: string
  readonly completion_tokens: number
}

test(
  `killed ${killRounds} times under streams and whole requests: what was delivered is charged once, and nothing else`,
  async () => {
    const installation = install()
    closing.push(installation.remove)
    const host = scriptedHost((body) =>
      body["stream"] === true ? talking() : body["max_tokens"] === 1 ? wholeAnswer("quick") : new Promise(() => {}),
    )
    closing.push(host.stop)
    const prices = { prompt: "0", completion: "0.000002" }
    const discovery = { environment: false, local: false }
    let gateway = installation.start({ config: configFor({ a: { url: host.url, ...prices } }, { discovery }) })
    let url = await gateway.url()
    await until(() => firstKey(gateway.out()) !== "", "the key")
    const key = firstKey(gateway.out())
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" }
    const post = (more: object) =>
      fetch(`${url}/chat/completions`, {
        method: "POST",
        headers,
        body: JSON.stringify({ model: "acme/small", messages: [{ role: "user", content: "hello" }], ...more }),
      })
    const usage = async () => {
      // The form of the answer is tested elsewhere.
      const { data } = (await (await fetch(`${url}/key`, { headers })).json()) as { data: { usage: number } }
      return BigInt(Math.round(data.usage * 1e12))
    }
    const listen = async (): Promise<Listening> => {
      const response = await post({ stream: true })
      const listening = { id: response.headers.get("x-generation-id") ?? "", text: "" }
      const read = async () => {
        const decoder = new TextDecoder()
        for await (const bytes of response.body ?? []) listening.text += decoder.decode(bytes, { stream: true })
      }
      read().catch(() => {})
      return listening
    }
    const tokensOf = ({ text }: Listening) => text.split(token).length - 1

    let booked = 0n
    for (let round = 0; round < killRounds; round++) {
      const listening = await Promise.all(Array.from({ length: streams }, listen))
      const waiting = post({}).catch(() => "broken")
      const quick = await post({ max_tokens: 1 })
      expect(quick.status).toBe(200)
      booked += 5n * picodollarsPerToken
      await quick.text()
      // Killed at a random moment after the first checkpoint.
      await until(() => checkpoints(installation.database).size === streams, "a checkpoint of every stream")
      await Bun.sleep(Math.random() * 700)
      const before = checkpoints(installation.database)
      gateway.kill("SIGKILL")
      await gateway.exited
      await waiting

      gateway = installation.start()
      url = await gateway.url()
      const rows = inDatabase<Row>(installation.database, "SELECT * FROM ledger")
      for (const one of listening) {
        const mine = rows.filter(({ generation_id }) => generation_id === one.id)
        expect(mine).toMatchObject([{ outcome: "crashed", estimated: 1 }])
        const charged = mine[0]?.completion_tokens ?? 0
        expect(charged).toBeGreaterThanOrEqual(before.get(one.id) ?? Number.NaN)
        // The host sends on while the caller reads, so a checkpoint may be a moment ahead of the caller.
        expect(charged).toBeLessThanOrEqual(tokensOf(one) + 50)
        booked += BigInt(charged) * picodollarsPerToken
      }
      expect(await usage()).toBe(booked)
      expect(checkpoints(installation.database).size).toBe(0)
    }
    gateway.kill("SIGTERM")
    expect(await gateway.exited).toBe(0)
    const { rows, spend } = await installation.ask(
      Effect.flatMap(Storage, ({ ledger }) =>
        Effect.all({ rows: ledger.rows(keyId(key), 100_000), spend: ledger.spend(keyId(key), Date.now()) }),
      ),
    )
    expect(rows).toHaveLength(killRounds * (streams + 1))
    expect(rows.reduce((sum, { cost }) => sum + cost, 0n)).toBe(booked)
    expect(spend.total).toBe(booked)
    reportKills("Streams, killed", { rows: rows.length, spent: spend.total, sum: booked })
  },
  killPatience,
)
