/** A model by what its author's own host calls it, through a running gateway. docs/catalogue.md */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { errorOf } from "../../support/clients/answers.ts"
import { explainedBy } from "../../support/clients/explained.ts"
import { openAccount } from "../../support/gateways/account.ts"
import { startGateway, type TestGateway } from "../../support/gateways/gateway.ts"
import { configFor, type ScriptedHost, scriptedHost, wholeAnswer } from "../../support/hosts/host.ts"
import { ask, nativeAnswer } from "../../support/hosts/messages.ts"

let gateway: TestGateway
let vendor: ScriptedHost
let reseller: ScriptedHost

const pricing = { prompt: "0.000001", completion: "0.000002" }

beforeAll(async () => {
  vendor = scriptedHost(() => nativeAnswer([{ type: "text", text: "Hi." }]))
  reseller = scriptedHost(() => wholeAnswer("Hi.", { prompt_tokens: 3, completion_tokens: 2 }))
  const { providers } = configFor({ reseller })
  const config = {
    providers: {
      ...providers,
      anthropic: { base_url: vendor.url, network: "private" as const, api_key: "key-of-anthropic" },
    },
    aliases: { "claude-opus-4-8": "acme/own" },
    models: [
      // Not in the catalogue: the provider is the author's all the same.
      {
        id: "anthropic/claude-next",
        context_length: 8192,
        hosts: [{ provider: "anthropic", model: "claude-next-1", pricing }],
      },
      { id: "acme/own", context_length: 8192, hosts: [{ provider: "reseller", model: "own-turbo", pricing }] },
      { id: "acme/deep/model", context_length: 8192, hosts: [{ provider: "reseller", pricing }] },
    ],
  }
  gateway = await startGateway({ config })
})
afterAll(async () => {
  await gateway.stop()
  await Promise.all([vendor.stop(), reseller.stop()])
})

const chat = (model: string, secret = gateway.key) =>
  gateway.chat(
    { model, max_tokens: 50, messages: [{ role: "user", content: "Hi" }] },
    { headers: { authorization: `Bearer ${secret}` } },
  )

describe("a name by which the vendor's own host is called was 400", () => {
  test.each([
    ["claude-sonnet-4-5", "anthropic/claude-sonnet-4.5", "claude-sonnet-4-5"],
    ["claude-sonnet-4-5-20250929", "anthropic/claude-sonnet-4.5", "claude-sonnet-4-5"],
    ["anthropic/claude-sonnet-4-5", "anthropic/claude-sonnet-4.5", "claude-sonnet-4-5"],
    ["claude-haiku-4-5", "anthropic/claude-haiku-4.5", "claude-haiku-4-5"],
    ["claude-opus-4-6", "anthropic/claude-opus-4.6", "claude-opus-4-6"],
    ["claude-opus-4-6:nitro", "anthropic/claude-opus-4.6", "claude-opus-4-6"],
    ["claude-next-1", "anthropic/claude-next", "claude-next-1"],
    ["anthropic/claude-next-1:floor", "anthropic/claude-next", "claude-next-1"],
  ])("%s is answered as %s", async (name, id, sent) => {
    const account = await openAccount(gateway)
    const response = await chat(name, account.secret)
    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject({ model: id })
    expect(vendor.calls.at(-1)?.body["model"]).toBe(sent)
    expect(await account.rows()).toMatchObject([{ model: id }])
    const message = await ask(gateway, { model: name })
    expect([message.status, await message.json()]).toMatchObject([200, { model: id }])
  })

  test("an alias of the configuration goes first, and no other host's names count", async () => {
    expect(await (await chat("claude-opus-4-8")).json()).toMatchObject({ model: "acme/own" })
    expect((await chat("own-turbo")).status).toBe(400)
    expect(await (await chat("anthropic/claude-opus-4-8")).json()).toMatchObject({ model: "anthropic/claude-opus-4.8" })
  })

  test("the key's allowed_models are asked about the id", async () => {
    const ofName = await gateway.newKey({ allowedModels: ["claude-haiku-4-5", "anthropic/claude-haiku-4-5"] })
    const ofId = await gateway.newKey({ allowedModels: ["anthropic/claude-haiku-4.5"] })
    expect((await chat("claude-haiku-4-5", ofId)).status).toBe(200)
    expect((await chat("claude-sonnet-4-5", ofId)).status).toBe(403)
    expect((await chat("claude-haiku-4-5", ofName)).status).toBe(403)
  })

  test.each([
    ["allowed_models", "claude-haiku-4-5", "anthropic/claude-haiku-4.5"],
    ["allowed_models", "anthropic/claude-haiku-4-5-20251001", "anthropic/claude-haiku-4.5"],
    ["allowed_models", "anthropic/claude-haiku-4.5:nitro", "anthropic/claude-haiku-4.5"],
    ["allowed_models", "unheard-of", "author/*"],
    ["allowed_providers", "acme/own", "allowed_models"],
  ])("a key whose %s had %p was made, and allowed nothing", async (list, entry, written) => {
    const asManager = (method: string, body: object): RequestInit => ({
      method,
      body: JSON.stringify(body),
      headers: { authorization: `Bearer ${gateway.managementKey}`, "content-type": "application/json" },
    })
    const ids = ["anthropic/*", "later/configured", "Anthropic/Claude-Haiku-4.5", "later/configured:nitro"]
    const good = list === "allowed_models" ? ids : ["Anthropic", "anthropic/eu", "later", "later/eu"]
    const made = await gateway.call("/keys", asManager("POST", { name: "n", [list]: good }))
    expect(made.status).toBe(201)
    const { data } = Object(await made.json())
    for (const [path, method] of [
      ["/keys", "POST"],
      [`/keys/${data.hash}`, "PATCH"],
    ] as const) {
      const refused = await gateway.call(path, asManager(method, { name: "n", [list]: ["*", entry] }))
      const { error } = Object(await refused.json())
      expect([refused.status, error.metadata.path]).toEqual([400, `${list}[1]`])
      expect(error.message).toContain(written)
    }
  })

  test("an explanation and the lists say the id", async () => {
    const { attempts } = await explainedBy(gateway, {
      model: "claude-haiku-4-5",
      messages: [{ role: "user", content: "" }],
    })
    expect(attempts).toMatchObject([{ model: "anthropic/claude-haiku-4.5", host: "anthropic" }])
    for (const name of ["claude-haiku-4-5", "anthropic/claude-haiku-4-5-20251001", "claude-haiku-4-5:nitro"]) {
      const found = await gateway.call(`/models/${name}`)
      expect([found.status, await found.json()]).toMatchObject([
        200,
        { id: "anthropic/claude-haiku-4.5", object: "model", owned_by: "anthropic" },
      ])
    }
    expect(await (await gateway.call("/models/acme%2Fdeep%2Fmodel")).json()).toMatchObject({ id: "acme/deep/model" })
  })

  test("one that is nearly so is answered with the id", async () => {
    const { message } = await errorOf(await chat("claude-sonnet-4-5-20250930"))
    expect(message).toContain("(near: anthropic/claude-sonnet-4.5")
  })
})
