/** Batches of embeddings as long as the form allows, over real sockets. docs/guarantees.md#g10, #g5 */
import { afterEach, describe, expect, test } from "bun:test"
import { floatPieces, packed } from "../../src/domain/request/embeddings.ts"
import { openAccount } from "../support/gateways/account.ts"
import { type Answer, type UnaryScene, unaryScene } from "../support/hosts/unaryHosts.ts"

const stops: Array<() => Promise<void>> = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

const scene = async (...of: Parameters<typeof unaryScene>): Promise<UnaryScene> => {
  const made = await unaryScene(...of)
  stops.push(made.stop)
  return made
}

const patience = 1_800_000

/** The largest batch of OpenAI's own form. */
const inputs = 2048
const dimensions = 1536

/** A text for each place, of which a host can tell its place again. */
const texts = (count: number) => Array.from({ length: count }, (_, at) => `text ${at}`)
const placeOf = (text: unknown): number => Number(String(text).slice("text ".length))

const first = Float32Array.from({ length: dimensions }, (_, place) => Math.sin(place) / 20)

/** All alike but for the first number, so that the tests themselves are quick. */
const vectorAt = (at: number, length = dimensions): Float32Array<ArrayBuffer> => {
  const vector = first.slice(0, length)
  vector[0] = at / 4096
  return vector
}

const rest = new Map<number, string>()

/** The numbers as hosts write them, with white space. */
const listOf = (at: number, length: number): string => {
  const others =
    rest.get(length) ??
    Array.from(floatPieces(first.slice(1, length)))
      .join("")
      .replaceAll(",", " , ")
      .slice(1)
  rest.set(length, others)
  return `[ ${at / 4096}, ${others}`
}

/** Speaks OpenAI's form. `kind`: what it gives, whatever is asked for. A token for each input. */
const giving =
  (kind: "float" | "base64", length = dimensions): Answer =>
  ({ input }) => {
    const list: ReadonlyArray<unknown> = Array.isArray(input) ? input : [input]
    const data = list.map((text, index) => {
      const vector = vectorAt(placeOf(text), length)
      const embedding = kind === "float" ? listOf(placeOf(text), length) : JSON.stringify(packed([...vector]))
      return `{"embedding": ${embedding}, "object": "embedding", "index": ${index}}`
    })
    const usage = `{"prompt_tokens":${list.length},"total_tokens":${list.length}}`
    return new Response(`{"usage":${usage},"data":[${data.join(",\n")}],"object":"list"}`)
  }

const failing: Answer = () => Response.json({ error: { message: "no" } }, { status: 503 })

interface Answered {
  readonly data: ReadonlyArray<Entry>
  readonly usage: { readonly prompt_tokens: number; readonly total_tokens: number; readonly cost: number }
}

// What a test reads of a body it checks itself.
const bodyOf = async (response: Response): Promise<Answered> => (await response.json()) as Answered

interface Entry {
  readonly index: number
  readonly embedding: ReadonlyArray<number> | string
}

const floatsOf = ({ embedding }: Entry): Float32Array =>
  typeof embedding === "string"
    ? new Float32Array(new Uint8Array(Buffer.from(embedding, "base64")).buffer)
    : Float32Array.from(embedding)

/** Whether there is the vector of each text, in the order of the texts. */
const hasAllOf = (data: ReadonlyArray<Entry>, count: number, length = dimensions): boolean =>
  data.length === count &&
  data.every(
    (entry, at) =>
      entry.index === at && Buffer.from(floatsOf(entry).buffer).equals(Buffer.from(vectorAt(at, length).buffer)),
  )

describe("the largest batch that there is, which was beyond a limit of ours as numbers and called every host", () => {
  test.each([
    ["base64", "float", "openai"],
    ["base64", "base64", "openai"],
    ["float", "float", "openai-compatible"],
    ["float", "base64", "openai-compatible"],
    ["float", undefined, "openai"],
  ] as const)(
    "from a host that gives %s, for a caller of %s",
    async (given, wanted, plugin) => {
      const { gateway, post, hosts } = await scene(
        "embeddings",
        { one: giving(given), two: giving(given) },
        {},
        { one: { plugin }, two: { plugin } },
      )
      const account = await openAccount(gateway)
      const init = { headers: { authorization: `Bearer ${account.secret}` } }
      const answer = await post({ input: texts(inputs), ...(wanted && { encoding_format: wanted }) }, init)
      expect(answer.status).toBe(200)
      const { data, usage } = await bodyOf(answer)
      expect(typeof data[0]?.embedding).toBe(wanted === "base64" ? "string" : "object")
      expect(hasAllOf(data, inputs)).toBe(true)
      expect([usage.prompt_tokens, usage.cost]).toEqual([inputs, 0.002048])
      const calls = [...(hosts["one"]?.calls ?? []), ...(hosts["two"]?.calls ?? [])]
      expect(calls).toHaveLength(1)
      expect(calls[0]?.body["encoding_format"]).toBe(plugin === "openai" ? "base64" : wanted)
      expect(await account.rows()).toMatchObject([{ promptTokens: inputs, cost: 2_048_000_000n }])
      expect([await account.reserved(), await account.total()]).toEqual([0n, 2_048_000_000n])
    },
    patience,
  )
})

describe("a batch that is longer than its host takes", () => {
  // Mistral takes 256 inputs.
  const mistral = { plugin: "mistral" }
  const sizes = (calls: UnaryScene["hosts"][string]["calls"] = []) =>
    calls.map(({ body }) => Object(body["input"]).length)

  test("is sent in parts, answered in order, and is one row", async () => {
    const { gateway, post, hosts } = await scene("embeddings", { one: giving("float", 8) }, {}, { one: mistral })
    const account = await openAccount(gateway)
    const init = { headers: { authorization: `Bearer ${account.secret}` } }
    const answer = await post({ input: texts(600) }, init)
    expect(answer.status).toBe(200)
    const { data, usage } = await bodyOf(answer)
    expect(hasAllOf(data, 600, 8)).toBe(true)
    expect(sizes(hosts["one"]?.calls)).toEqual([256, 256, 88])
    expect([usage.prompt_tokens, usage.total_tokens, usage.cost]).toEqual([600, 600, 0.0006])
    expect(answer.headers.get("x-gw-cost-usd")).toBe("0.0006")
    expect(await account.rows()).toMatchObject([{ outcome: "finished", promptTokens: 600, cost: 600_000_000n }])
    expect([await account.reserved(), await account.total()]).toEqual([0n, 600_000_000n])
  })

  test("of which a later part fails goes to the next host, and what was answered is a cost of the gateway", async () => {
    let calls = 0
    const breaking: Answer = (body, request) => (++calls === 2 ? failing : giving("float", 8))(body, request)
    const { gateway, post, hosts } = await scene(
      "embeddings",
      { one: breaking, two: giving("float", 8) },
      {},
      { one: mistral },
    )
    const account = await openAccount(gateway)
    const init = { headers: { authorization: `Bearer ${account.secret}` } }
    const answer = await post({ input: texts(600), provider: { order: ["one", "two"] } }, init)
    expect([answer.status, answer.headers.get("x-gw-host")]).toEqual([200, "two"])
    const { data, usage } = await bodyOf(answer)
    expect(hasAllOf(data, 600, 8)).toBe(true)
    expect([usage.prompt_tokens, usage.cost]).toEqual([600, 0.0006])
    expect([sizes(hosts["one"]?.calls), sizes(hosts["two"]?.calls)]).toEqual([[256, 256], [600]])
    const rows = await account.rows()
    expect(rows.toSorted((one, other) => Number(one.cost - other.cost))).toMatchObject([
      { host: "one", outcome: "lost", promptTokens: 256, cost: 0n, upstreamCost: 256_000_000n },
      { host: "two", outcome: "finished", promptTokens: 600, cost: 600_000_000n },
    ])
    expect([await account.reserved(), await account.total()]).toEqual([0n, 600_000_000n])
  })

  test("of which the first part fails costs nothing there", async () => {
    const { gateway, post, hosts } = await scene(
      "embeddings",
      { one: failing, two: giving("float", 8) },
      {},
      { one: mistral },
    )
    const account = await openAccount(gateway)
    const init = { headers: { authorization: `Bearer ${account.secret}` } }
    expect((await post({ input: texts(300), provider: { order: ["one", "two"] } }, init)).status).toBe(200)
    expect([sizes(hosts["one"]?.calls), sizes(hosts["two"]?.calls)]).toEqual([[256], [300]])
    expect(await account.rows()).toMatchObject([{ host: "two", cost: 300_000_000n }])
  })

  test("of which a later part cannot be sent is refused before any call, by its path", async () => {
    const { post, hosts } = await scene("embeddings", { one: giving("float", 8) }, {}, { one: mistral })
    const text = { content: [{ type: "text", text: "a" }] }
    const image = { content: [{ type: "image_url", image_url: { url: "https://example.com/a.png" } }] }
    const answer = await post({ input: [...Array.from({ length: 299 }, () => text), image] })
    expect(answer.status).toBe(400)
    expect(await answer.json()).toMatchObject({ error: { metadata: { path: "input[299].content" } } })
    expect(hosts["one"]?.calls).toEqual([])
  })

  test("of one text each, in vendors' own forms", async () => {
    const cohere: Answer = ({ texts: list }) => {
      const vectors = Array.isArray(list) ? list.map((text) => listOf(placeOf(text), 8)) : []
      return new Response(
        `{"embeddings":{"float":[${vectors.join(" , ")}]},"meta":{"billed_units":{"input_tokens":${vectors.length}}}}`,
      )
    }
    const google: Answer = ({ requests }) => {
      const list: ReadonlyArray<{ readonly content: { readonly parts: ReadonlyArray<{ readonly text: string }> } }> =
        Array.isArray(requests) ? requests : []
      const embeddings = list.map(({ content }) => ({ values: [...vectorAt(placeOf(content.parts[0]?.text), 8)] }))
      return Response.json({ embeddings, usageMetadata: { promptTokenCount: list.length } }, {})
    }
    const { post, hosts } = await scene(
      "embeddings",
      { one: cohere, two: google },
      {},
      { one: { plugin: "cohere" }, two: { plugin: "google-ai-studio" } },
    )
    for (const [only, parts] of [
      ["one", 3],
      ["two", 2],
    ] as const) {
      const answer = await post({ input: texts(200), provider: { only: [only] } })
      const { data, usage } = await bodyOf(answer)
      expect([answer.status, usage?.prompt_tokens, hasAllOf(data, 200, 8)]).toEqual([200, 200, true])
      expect(hosts[only]?.calls).toHaveLength(parts)
    }
  })
})
