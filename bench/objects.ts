/**
 * How many objects a request makes, and how many of them to be observed: `bun bench/objects.ts`. In one process, with a host that answers from memory, so it is the
 * gateway's own work, with that of `Request` and `Response`. Unlike times it differs by 1 % from run to run, whatever else
 * the machine does. See docs/decisions/0039-fewer-objects-per-request.md.
 */
import { heapStats } from "bun:jsc"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import openaiCompatible from "../plugins/providers/openai-compatible/index.ts"
import * as Gateway from "../src/app/Gateway.ts"
import { parseUsd } from "../src/domain/price/money.ts"
import { DataPlane } from "../src/http/data/routes.ts"
import { KeyStore } from "../src/services/keys/KeyStore.ts"
import { InFlight } from "../src/services/request/InFlight.ts"
import * as SqliteStorage from "../src/sql/sqlite/SqliteStorage.ts"
import { Upstream } from "../src/upstream/Upstream.ts"
import { observingNothing } from "./load/observers.ts"
import { requestBody, wholeAnswer } from "./load/script.ts"

const model = "bench/brisk"
const address = "http://127.0.0.1/api/v1/chat/completions"
const rounds = 5
/** Few enough that no collection runs meanwhile. */
const counted = 300
const waitingStreams = 900

/** Whether the host answers, or leaves every request waiting. */
let answers = true

const answer = Buffer.from(wholeAnswer())
const head = { status: 200, headers: new Headers({ "content-type": "application/json" }) }
const upstream = Layer.succeed(Upstream, {
  exchange: (_call, sink) => {
    let isCancelled = false
    if (answers) {
      setImmediate(() => {
        if (isCancelled) return
        sink.head(head)
        sink.data(answer, 0, answer.length)
        sink.end()
      })
    }
    const cancel = () => {
      isCancelled = true
    }
    return { cancel, drain: cancel, pause: () => {}, resume: () => {} }
  },
})

const host = (provider: string, prompt: string) => ({
  provider,
  model,
  pricing: { prompt, completion: "0.0000006" },
  max_completion_tokens: 16_384,
})
const provider = {
  plugin: "openai-compatible",
  base_url: "http://127.0.0.1:9/v1",
  network: "private",
  api_key: "x",
} as const
const config = {
  discovery: { environment: false, local: false },
  // All streams have one key, which may have a quarter of the places.
  limits: { max_in_flight: 8192 },
  providers: { a: provider, b: provider },
  models: [{ id: model, context_length: 128_000, hosts: [host("a", "0.00000015"), host("b", "0.0000002")] }],
}

/** Objects by type. */
type Counts = Readonly<Record<string, number>>

/** What was added of each type for each of `requests`, most first. */
const added = (
  before: Counts,
  after: Counts,
  requests: number,
): ReadonlyArray<readonly [type: string, count: number]> =>
  Object.entries(after)
    .map(([type, count]) => [type, (count - (before[type] ?? 0)) / requests] as const)
    .filter(([, count]) => count >= 0.5)
    .toSorted(([, one], [, other]) => other - one)

const written = (counts: ReturnType<typeof added>): string => {
  const sum = counts.reduce((sum, [, count]) => sum + count, 0)
  return `${sum.toFixed(0)} objects: ${counts.map(([type, count]) => `${count.toFixed(0)} ${type}`).join(", ")}`
}

/** What sends requests to a gateway. */
const callers = Effect.gen(function* () {
  const { handlers } = yield* DataPlane
  const keys = yield* KeyStore
  const { secret } = yield* keys.create({ kind: "ordinary", name: "bench", limit: parseUsd("1000000") ?? 0n })
  const handler = handlers.get("/api/v1/chat/completions")
  if (handler === undefined) return yield* Effect.dieMessage("there is no route for chat completions")

  const request = (body: string) => {
    const length = String(Buffer.byteLength(body))
    const headers = { authorization: `Bearer ${Redacted.value(secret)}`, "content-type": "application/json" }
    return new Request(address, { method: "POST", headers: { ...headers, "content-length": length }, body })
  }
  const whole = requestBody(model, false)
  const streamed = requestBody(model, true)
  return (stream: boolean) => handler.native(request(stream ? streamed : whole), () => false)
})

/** What a whole answer makes. */
const wholeAnswers = Effect.gen(function* () {
  const call = yield* callers
  const load = (requests: number, atOnce: number) =>
    Effect.promise(() => {
      let left = requests
      const caller = async () => {
        while (left-- > 0) {
          const response = await call(false)
          if (response.status !== 200) throw new Error(await response.text())
        }
      }
      return Promise.all(Array.from({ length: atOnce }, caller))
    })

  yield* load(20_000, 60)
  let counts: ReturnType<typeof added> = []
  for (let round = 0; round < rounds; round++) {
    Bun.gc(true)
    const before = heapStats().objectTypeCounts
    yield* load(counted, 20)
    const now = added(before, heapStats().objectTypeCounts, counted)
    const sum = (one: typeof counts) => one.reduce((sum, [, count]) => sum + count, 0)
    // A collection in between takes some away.
    if (sum(now) > sum(counts)) counts = now
  }
  return counts
})

const waiting = Effect.gen(function* () {
  const call = yield* callers
  // Reads the key: it is not read for 900 requests at once, which would be refused.
  yield* Effect.promise(() => call(false))
  answers = false
  Bun.gc(true)
  const before = heapStats()
  for (let stream = 0; stream < waitingStreams; stream++) void call(true)
  yield* Effect.sleep("200 millis")
  Bun.gc(true)
  const after = heapStats()
  const { running } = (yield* InFlight).figures()
  if (running !== waitingStreams) return yield* Effect.dieMessage(`${running} streams wait, not ${waitingStreams}`)
  const bytes = (after.heapSize - before.heapSize) / waitingStreams
  const kept = added(before.objectTypeCounts, after.objectTypeCounts, waitingStreams)
  console.log(`a stream that waits for its first token keeps ${bytes.toFixed(0)} bytes in ${written(kept)}`)
})

const folder = mkdtempSync(join(tmpdir(), "headgate-objects-"))
process.on("exit", () => rmSync(folder, { recursive: true }))

const inGateway = <A>(
  file: string,
  settings: Record<string, unknown>,
  program: Effect.Effect<A, unknown, DataPlane | InFlight | KeyStore>,
): Promise<A> => {
  const services = Gateway.services({ config: settings, plugins: [openaiCompatible] }).pipe(
    Layer.provideMerge(KeyStore.layer()),
    Layer.provideMerge(SqliteStorage.layer({ path: join(folder, file), durability: "full" })),
    Layer.provideMerge(upstream),
  )
  return Effect.runPromise(Effect.provide(program, services).pipe(Effect.scoped))
}

const unobserved = await inGateway("unobserved.db", observingNothing(config), wholeAnswers)
await inGateway(
  "observed.db",
  config,
  Effect.gen(function* () {
    const counts = yield* wholeAnswers
    console.log(`a whole answer makes ${written(counts)}`)
    const more = added(Object.fromEntries(unobserved), Object.fromEntries(counts), 1)
    console.log(`of them to be observed ${written(more)}`)
  }),
)
// The log would have a line for each of the streams, which the end of this gateway refuses.
await inGateway("waiting.db", { ...config, server: { access_log: "off" } }, waiting)
// Requests are waiting.
process.exit(0)
