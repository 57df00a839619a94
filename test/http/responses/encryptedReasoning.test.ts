/**
 * Encrypted reasoning goes only to the account that made it, and a session survives fallback, balancing and the keys of two
 * organizations. docs/guarantees.md#g13, #g39
 */
import { describe, expect, test } from "bun:test"
import { isJsonObject, type JsonObject, objectsIn } from "../../../src/domain/json/json.ts"
import { postResponses, responsesStreamOf } from "../../support/clients/responsesForm.ts"
import { closeAfterEach, opened, startWatched } from "../../support/gateways/watched.ts"
import { scriptedHost } from "../../support/hosts/host.ts"
import { eventsOf, message, responseObject, streamOf, thought } from "../../support/hosts/responsesHost.ts"

closeAfterEach()

/** What a host of an account makes: it reads what begins with the account's name, and refuses anything else. */
const madeBy = (account: string, at: number) => `${beginning(account)}${at}A${"x".repeat(200)}==`
const beginning = (account: string) => `gAAAA-${account}-`

const refusals = {
  code: { message: "Something is wrong.", type: "invalid_request_error", code: "invalid_encrypted_content" },
  words: {
    message:
      "The encrypted content gAAA...xx== could not be verified. Reason: Encrypted content could not be decrypted or parsed.",
    ...{ type: "invalid_request_error", code: null },
  },
}

const keysOf = (
  first: string,
  more: ReadonlyArray<string>,
): readonly [{ readonly key: string }, ...ReadonlyArray<{ readonly key: string }>] => [
  { key: `key-of-${first}` },
  ...more.map((account) => ({ key: `key-of-${account}` })),
]

const encryptedIn = (body: JsonObject): ReadonlyArray<string> =>
  objectsIn(body["input"]).flatMap(({ encrypted_content: data }) => (typeof data === "string" ? [data] : []))

interface Options {
  /** The accounts of each provider, by its name; several are its keys. */
  readonly accounts: Readonly<Record<string, ReadonlyArray<string>>>
  readonly refusal?: JsonObject
  readonly strategy?: string
}

const scene = async ({ accounts, refusal = refusals.words, strategy = "price" }: Options) => {
  const down = new Set<string>()
  /** By call: the account, what it was sent of encrypted reasoning, and whether it refused it. */
  const calls: Array<{ account: string; sent: ReadonlyArray<string>; isRefused: boolean }> = []
  /** The accounts have changed so often, without the gateway's knowledge. */
  const state = { changes: 0 }
  let made = 0
  const hostOf = (name: string) =>
    opened(
      scriptedHost((body, request) => {
        if (down.has(name)) return Response.json({ error: { message: "no" } }, { status: 503 })
        const account = request.headers.get("authorization")?.slice("Bearer key-of-".length) ?? ""
        const sent = encryptedIn(body)
        const maker = account + "Z".repeat(state.changes)
        const isRefused = !sent.every((data) => data.startsWith(beginning(maker)) && data.endsWith("=="))
        calls.push({ account, sent, isRefused })
        if (isRefused) return Response.json({ error: refusal }, { status: 400 })
        made += 1
        const items = [{ ...thought("Hm.", madeBy(maker, made)), id: `rs_${made}` }, message("fine")]
        return body["stream"] === true ? streamOf(eventsOf(items)) : Response.json(responseObject(items))
      }),
    )
  const providers = Object.fromEntries(
    Object.entries(accounts).map(([name, [first = "", ...more]]) => [
      name,
      {
        ...{ plugin: "openai", base_url: hostOf(name).url, network: "private" as const },
        ...(more.length === 0 ? { api_key: `key-of-${first}` } : { api_keys: keysOf(first, more) }),
      },
    ]),
  )
  const gateway = await startWatched({
    config: {
      providers,
      models: [
        {
          ...{ id: "acme/small", context_length: 8192 },
          hosts: Object.keys(accounts).map((provider) => ({
            ...{ provider, model: "gpt-5-mini", api: "responses", max_completion_tokens: 4096 },
            // Nothing is cheaper at the host of the last turn, so that hosts and keys are drawn anew.
            pricing: { prompt: "0.000001", completion: "0.000002", input_cache_read: "0.000001" },
          })),
        },
      ],
      routing: { strategy },
      limits: { breaker: { open_s: 0 } },
    },
  })
  return { gateway, calls, down, state }
}

type Scene = Awaited<ReturnType<typeof scene>>

/** A client of one form: asks with what was said so far, and gives back what it got. */
interface Client {
  readonly turn: (gateway: Scene["gateway"], said: Array<unknown>, text: string) => Promise<Response>
}

const responses = (stream: boolean): Client => ({
  turn: async (gateway, said, text) => {
    said.push({ role: "user", content: text })
    const response = await postResponses(gateway, { input: said, stream })
    if (response.status !== 200) return response
    const body: unknown = stream ? (await responsesStreamOf(response)).response : await response.json()
    // As Codex does, which gives back no ids (openai/codex, 2026-11).
    for (const { id: _, status: __, ...item } of objectsIn(isJsonObject(body) ? body["output"] : [])) said.push(item)
    return response
  },
})

const chat: Client = {
  turn: async (gateway, said, text) => {
    said.push({ role: "user", content: text })
    const response = await gateway.chat({ model: "acme/small", messages: said })
    if (response.status !== 200) return response
    const body: unknown = await response.json()
    const [choice] = objectsIn(isJsonObject(body) ? body["choices"] : [])
    said.push(choice?.["message"])
    return response
  },
}

const messages: Client = {
  turn: async (gateway, said, text) => {
    said.push({ role: "user", content: text })
    const response = await gateway.call("/messages", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        ...{ model: "acme/small", max_tokens: 2048, messages: said },
        thinking: { type: "enabled", budget_tokens: 1024 },
      }),
    })
    if (response.status !== 200) return response
    const body: unknown = await response.json()
    said.push({ role: "assistant", content: isJsonObject(body) ? body["content"] : [] })
    return response
  },
}

const clients: ReadonlyArray<readonly [string, Client]> = [
  ["responses", responses(false)],
  ["responses, streamed", responses(true)],
  ["chat", chat],
  ["messages", messages],
]

/** The conversation goes on for so many turns, and each is answered. */
const goOn = async ({ gateway }: Scene, client: Client, said: Array<unknown>, count: number) => {
  for (let at = 0; at < count; at++) {
    const response = await client.turn(gateway, said, `turn ${said.length}`)
    expect([response.status, response.status === 200 ? "" : await response.text()]).toEqual([200, ""])
  }
}

describe.each(clients)("a session of a client of the form %s", (_name, client) => {
  test("survives a fallback: the next host is not sent what the first one made, and gets its own back", async () => {
    const trial = await scene({ accounts: { a: ["A"], b: ["B"] } })
    const said: Array<unknown> = []
    await goOn(trial, client, said, 2)
    trial.down.add("a")
    await goOn(trial, client, said, 2)
    expect(trial.calls.map(({ account, isRefused }) => [account, isRefused])).toEqual([
      ["A", false],
      ["A", false],
      ["B", false],
      ["B", false],
    ])
    const [first, second, third, fourth] = trial.calls.map(({ sent }) => sent)
    expect([first, second, third, fourth]).toEqual([[], [madeBy("A", 1)], [], [madeBy("B", 3)]])
    trial.down.delete("a")
    await goOn(trial, client, said, 1)
    expect(trial.calls.at(-1)).toEqual({ account: "A", sent: [madeBy("A", 1), madeBy("A", 2)], isRefused: false })
  })

  test("survives hosts that are drawn anew, and keys of two organizations: no turn is refused", async () => {
    for (const accounts of [{ a: ["A"], b: ["B"] }, { a: ["A", "B"] }]) {
      const trial = await scene({ accounts, strategy: "balanced" })
      await goOn(trial, client, [], 12)
      expect(trial.calls.filter(({ isRefused }) => isRefused)).toEqual([])
    }
  })

  test.each([
    ["by its code", refusals.code],
    ["in words, with `code: null`", refusals.words],
  ])("goes on with one call more where the host refuses it %s", async (_refused, refusal) => {
    const trial = await scene({ accounts: { a: ["A"], b: ["B"] }, refusal })
    const said: Array<unknown> = []
    await goOn(trial, client, said, 1)
    trial.state.changes = 1
    await goOn(trial, client, said, 1)
    expect(trial.calls).toEqual([
      { account: "A", sent: [], isRefused: false },
      { account: "A", sent: [madeBy("A", 1)], isRefused: true },
      { account: "A", sent: [], isRefused: false },
    ])
  })
})

describe("of a model with one account", () => {
  test.each([true, false])("the client gets what the vendor wrote (stream: %p)", async (stream) => {
    const trial = await scene({ accounts: { a: ["A"] } })
    const said: Array<unknown> = []
    await goOn(trial, responses(stream), said, 1)
    expect(encryptedIn({ input: said })).toEqual([madeBy("A", 1)])
  })
})

describe("a refusal of what cannot be left out", () => {
  const compacted = [
    { type: "compaction", encrypted_content: madeBy("B", 1) },
    { role: "user", content: "go on" },
  ]

  test("ends no request that another host can answer", async () => {
    const trial = await scene({ accounts: { a: ["A"], b: ["B"] } })
    const response = await postResponses(trial.gateway, { input: compacted })
    expect(response.status).toBe(200)
    expect(trial.calls.map(({ account, isRefused }) => [account, isRefused])).toEqual([
      ["A", true],
      ["B", false],
    ])
  })

  test("is the caller's where no host can, and each was called once", async () => {
    const trial = await scene({ accounts: { a: ["A"], c: ["C"] } })
    const response = await postResponses(trial.gateway, { input: compacted })
    expect(response.status).toBe(400)
    expect(trial.calls.map(({ account }) => account)).toEqual(["A", "C"])
  })
})
