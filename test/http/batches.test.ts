/**
 * What becomes of a batch that is sent in parts when something happens between them. See docs/guarantees.md#g5 and
 * docs/decisions/0098-long-batches.md.
 */
import { afterEach, describe, expect, test } from "bun:test"
import * as Layer from "effect/Layer"
import { ManualClock, pass } from "../support/clocks/manualClock.ts"
import { until } from "../support/clocks/until.ts"
import { openAccount } from "../support/gateways/account.ts"
import { startGateway } from "../support/gateways/gateway.ts"
import { signatureOf } from "../support/hosts/awsSignature.ts"
import { type ScriptedHost, scriptedHost } from "../support/hosts/host.ts"

const stops: Array<() => Promise<void>> = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

type Part = (inputs: ReadonlyArray<unknown>, request: Request) => Response | Promise<Response>

/** A vector and a token for each input. The usage comes first. */
const good =
  (dimensions = 4): Part =>
  (inputs) => {
    const data = inputs.map((_, index) => ({ index, embedding: Array.from({ length: dimensions }, () => 0.5) }))
    return Response.json({ usage: { prompt_tokens: inputs.length, total_tokens: inputs.length }, data })
  }

/** Never answers. */
const silent: Part = (_, request) =>
  new Promise((resolve) => request.signal.addEventListener("abort", () => resolve(new Response()), { once: true }))

const limited: Part = () =>
  Response.json({ error: { message: "slow down" } }, { status: 429, headers: { "retry-after": "7" } })

/** A host that answers its first calls so, one after another, and all further ones well. */
const hostOf = (...parts: ReadonlyArray<Part>): ScriptedHost =>
  scriptedHost(({ input }, request, call) => {
    const inputs: ReadonlyArray<unknown> = Array.isArray(input) ? input : [input]
    return (parts[call - 1] ?? good())(inputs, request)
  })

/** How many inputs each call of a host had. */
const sizes = ({ calls }: ScriptedHost) => calls.map(({ body }) => Object(body["input"]).length)
const keysOf = ({ calls }: ScriptedHost) => calls.map(({ request }) => request.headers.get("authorization"))

interface Setting {
  readonly limits?: object
  /** Of the first host's provider. */
  readonly first?: object
}

/** The first host takes 256 inputs in a call, as Mistral does, and the second any number. */
const scene = async (one: ScriptedHost, { limits = {}, first = { api_key: "k" } }: Setting = {}) => {
  const two = hostOf()
  const clock = new ManualClock()
  const host = (provider: string, prompt: string) => ({
    ...{ provider, model: "upstream", pricing: { prompt, completion: "0" } },
  })
  const gateway = await startGateway({
    config: {
      providers: {
        one: { plugin: "mistral", base_url: one.url, network: "private", ...first },
        two: { plugin: "openai-compatible", base_url: two.url, network: "private", api_key: "k" },
      },
      models: [
        {
          ...{ id: "acme/unary", context_length: 512 },
          architecture: { input_modalities: ["text"], output_modalities: ["embeddings"] },
          hosts: [host("one", "0.000001"), host("two", "0.000002")],
        },
      ],
      routing: { strategy: "price" },
      limits,
    },
    setting: Layer.setClock(clock),
  })
  stops.push(gateway.stop, one.stop, two.stop)
  const account = await openAccount(gateway)
  const post = (inputs: number, more: object = {}, headers: Record<string, string> = {}, signal?: AbortSignal) =>
    gateway.call("/embeddings", {
      method: "POST",
      headers: { authorization: `Bearer ${account.secret}`, ...headers },
      body: JSON.stringify({ model: "acme/unary", input: texts(inputs), ...more }),
      ...(signal && { signal }),
    })
  return { gateway, account, post, one, two, clock }
}

const texts = (count: number) => Array.from({ length: count }, (_, at) => `text ${at}`)
const micro = 1_000_000n

describe("a caller who leaves", () => {
  test("between parts pays for what was answered and for the part that runs, and never more than was reserved", async () => {
    const { account, post, one, two, clock } = await scene(hostOf(good(), silent))
    const leaving = new AbortController()
    const asked = post(600, {}, {}, leaving.signal).catch(() => undefined)
    await until(() => one.calls.length === 2, "the second part")
    const reserved = await account.reserved()
    leaving.abort()
    await asked
    await until(async () => {
      await pass(clock, 1000)
      return (await account.rows()).length > 0
    }, "the row")
    const [row, ...more] = await account.rows()
    expect([sizes(one), sizes(two), more]).toEqual([[256, 256], [], []])
    expect(row).toMatchObject({ outcome: "caller-gone", host: "one", estimated: false })
    const part = Buffer.byteLength(JSON.stringify(one.calls[1]?.body))
    // 256 were counted; of the second part as many as there are fours of bytes, about.
    expect(row?.promptTokens).toBeGreaterThan(256 + part / 6)
    expect(row?.promptTokens).toBeLessThan(256 + part / 2)
    expect(row?.cost).toBeLessThanOrEqual(reserved)
    expect([await account.reserved(), await account.total()]).toEqual([0n, row?.cost ?? 0n])
  })
})

describe("a deadline in between", () => {
  test("costs the key nothing: what was answered is a cost of ours", async () => {
    const { account, post, one, two, clock } = await scene(hostOf(good(), silent), {
      limits: { deadline_ms: 20_000, attempt_ms: 0 },
    })
    const asked = post(600)
    await until(() => one.calls.length === 2, "the second part")
    await pass(clock, 21_000)
    expect((await asked).status).toBe(408)
    await until(async () => (await account.rows()).length > 0, "the row")
    expect([sizes(one), sizes(two)]).toEqual([[256, 256], []])
    expect(await account.rows()).toMatchObject([
      { outcome: "lost", host: "one", promptTokens: 256, cost: 0n, upstreamCost: 256n * micro },
    ])
    expect([await account.reserved(), await account.total()]).toEqual([0n, 0n])
  })

  test("`attempt_ms` is for each part, and after it the next host gets all of them", async () => {
    const late: Part = async (inputs, request) => {
      await pass(clocks[0] ?? new ManualClock(), 2000)
      return good()(inputs, request)
    }
    const clocks: Array<ManualClock> = []
    const { post, one, two, clock, account } = await scene(hostOf(late, late, silent), { limits: { attempt_ms: 3000 } })
    clocks.push(clock)
    const asked = post(600)
    await until(() => one.calls.length === 3, "the third part")
    expect(two.calls).toEqual([])
    await pass(clock, 3100)
    expect((await asked).status).toBe(200)
    expect([sizes(one), sizes(two)]).toEqual([[256, 256, 88], [600]])
    const rows = await account.rows()
    expect(rows.toSorted((one, other) => Number(one.cost - other.cost))).toMatchObject([
      { outcome: "lost", host: "one", promptTokens: 512, cost: 0n },
      { outcome: "finished", host: "two", promptTokens: 600, cost: 1200n * micro },
    ])
  })
})

describe("a 429 on the second part", () => {
  test("sends all of it to the next host, and the first rests as long as it says", async () => {
    const { account, post, one, two, clock } = await scene(hostOf(good(), limited))
    const answer = await post(600)
    expect([answer.status, answer.headers.get("x-gw-host")]).toEqual([200, "two"])
    await answer.arrayBuffer()
    expect([sizes(one), sizes(two)]).toEqual([[256, 256], [600]])
    // It rests for the 7 seconds that it said, and no longer.
    await pass(clock, 6000)
    expect((await post(1)).headers.get("x-gw-host")).toBe("two")
    await pass(clock, 1500)
    expect((await post(1)).headers.get("x-gw-host")).toBe("one")
    const rows = await account.rows()
    expect(rows.find(({ outcome }) => outcome === "lost")).toMatchObject({ host: "one", promptTokens: 256, cost: 0n })
    expect(await account.total()).toBe(1200n * micro + 2n * micro + micro)
    expect(await account.reserved()).toBe(0n)
  })

  test("sends all of it again with another key of the provider, which is no retry", async () => {
    const first = { api_keys: [{ key: "secret-a" }, { key: "secret-b" }] }
    const { account, post, one, two } = await scene(hostOf(good(), limited), { first })
    const answer = await post(600)
    expect([answer.status, answer.headers.get("x-gw-host")]).toEqual([200, "one"])
    expect([sizes(one), sizes(two)]).toEqual([[256, 256, 256, 256, 88], []])
    const [used, again, other, ...rest] = keysOf(one)
    expect(again).toBe(used ?? "")
    expect(other).not.toBe(used ?? "")
    expect(rest).toEqual([other ?? "", other ?? ""])
    const rows = await account.rows()
    expect(rows.toSorted((one, other) => Number(one.cost - other.cost))).toMatchObject([
      { outcome: "lost", promptTokens: 256, cost: 0n },
      { outcome: "finished", promptTokens: 600, cost: 600n * micro },
    ])
  })

  test("and no other host: 429 with its wait, and nothing to pay", async () => {
    const { account, post, one } = await scene(hostOf(good(), limited))
    const answer = await post(600, { provider: { only: ["one"] } })
    expect([answer.status, answer.headers.get("retry-after"), sizes(one)]).toEqual([429, "7", [256, 256]])
    expect([await account.total(), await account.reserved()]).toEqual([0n, 0n])
  })
})

test("all parts have one place at their host (`max_concurrent`), which is given back after the last", async () => {
  const waiting: Array<PromiseWithResolvers<void>> = []
  const held: Part = async (inputs, request) => {
    const gate = Promise.withResolvers<void>()
    waiting.push(gate)
    await gate.promise
    return good()(inputs, request)
  }
  const { post, one } = await scene(hostOf(held, held, held), { first: { api_key: "k", max_concurrent: 1 } })
  const asked = post(600)
  for (const part of [1, 2, 3]) {
    await until(() => waiting.length === part, `part ${part}`)
    expect((await post(1)).headers.get("x-gw-host")).toBe("two")
    waiting[part - 1]?.resolve()
  }
  expect((await asked).headers.get("x-gw-host")).toBe("one")
  expect((await post(1)).headers.get("x-gw-host")).toBe("one")
  expect(sizes(one)).toEqual([256, 256, 88, 1])
})

test("the bound of bytes is that of all parts together: 502, and all that was read is charged", async () => {
  // 27,000 bytes for 256 inputs: the bound is twice that of bodies, and the third part is beyond it.
  const part = good(20)
  const { account, post, one, two } = await scene(hostOf(part, part, part), { limits: { body_bytes: 30_000 } })
  const answer = await post(600)
  expect([answer.status, answer.headers.get("x-gw-cost-usd")]).toEqual([502, "0.0006"])
  expect([sizes(one), sizes(two)]).toEqual([[256, 256, 88], []])
  expect(await account.rows()).toMatchObject([
    { outcome: "cut", promptTokens: 600, estimated: false, cost: 600n * micro },
  ])
  expect([await account.reserved(), await account.total()]).toEqual([0n, 600n * micro])
})

test("under an Idempotency-Key it is sent and charged once, and its answer comes again", async () => {
  const { account, post, one, two } = await scene(hostOf())
  const headers = { "idempotency-key": "once" }
  const first = await post(600, {}, headers)
  const body = await first.text()
  const again = await post(600, {}, headers)
  expect([first.status, again.status, again.headers.get("idempotent-replayed")]).toEqual([200, 200, "true"])
  expect(await again.text()).toBe(body)
  expect([sizes(one), sizes(two)]).toEqual([[256, 256, 88], []])
  expect(await account.total()).toBe(600n * micro)
})

test("each part is signed for itself, at hosts that want signatures", async () => {
  const secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
  const bodies: Array<string> = []
  const signatures: Array<string> = []
  const host = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async (request) => {
      const body = await request.text()
      const { headers, method, url } = request
      const target = url.slice(new URL(url).origin.length)
      const { isValid } = signatureOf({ method, target, headers, body }, secret)
      bodies.push(body)
      signatures.push(headers.get("authorization") ?? "")
      if (!isValid) return Response.json({ message: "no" }, { status: 403 })
      return Response.json({ embedding: [0.5, bodies.length], inputTextTokenCount: 3 })
    },
  })
  const gateway = await startGateway({
    config: {
      providers: {
        aws: {
          ...{ plugin: "bedrock", base_url: `http://127.0.0.1:${host.port}`, network: "private", region: "eu-west-1" },
          ...{ access_key_id: "AKIDEXAMPLE", secret_access_key: secret },
        },
      },
      models: [
        {
          ...{ id: "amazon/titan", context_length: 512 },
          architecture: { input_modalities: ["text"], output_modalities: ["embeddings"] },
          hosts: [
            {
              provider: "aws",
              model: "amazon.titan-embed-text-v2:0",
              pricing: { prompt: "0.000001", completion: "0" },
            },
          ],
        },
      ],
    },
  })
  stops.push(gateway.stop, () => host.stop(true))
  const account = await openAccount(gateway)
  const answer = await gateway.call("/embeddings", {
    method: "POST",
    headers: { authorization: `Bearer ${account.secret}` },
    body: JSON.stringify({ model: "amazon/titan", input: texts(3) }),
  })
  expect(await answer.json()).toMatchObject({
    data: [
      { index: 0, embedding: [0.5, 1] },
      { index: 1, embedding: [0.5, 2] },
      { index: 2, embedding: [0.5, 3] },
    ],
    usage: { prompt_tokens: 9 },
  })
  expect(bodies.map((body) => JSON.parse(body).inputText)).toEqual(texts(3))
  expect(new Set(signatures).size).toBe(3)
  expect(await account.rows()).toMatchObject([{ outcome: "finished", promptTokens: 9, cost: 9n * micro }])
})
