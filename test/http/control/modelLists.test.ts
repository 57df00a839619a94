/** The lists of models, providers and hosts: what they can be asked for, and what a key may see. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { ModelResponse$inboundSchema, ModelsCountResponse$inboundSchema } from "@openrouter/sdk/models"
import {
  ListEndpointsZdrResponse$inboundSchema,
  ListProvidersResponse$inboundSchema,
} from "@openrouter/sdk/models/operations"
import * as Effect from "effect/Effect"
import { ProviderRegistry } from "../../../src/catalogue/ProviderRegistry.ts"
import { keyId } from "../../../src/domain/keys/keySecret.ts"
import { HostStats } from "../../../src/services/hosts/HostStats.ts"
import { Storage } from "../../../src/services/storage/Storage.ts"
import {
  type Anything,
  asManager,
  bearer,
  type ControlPlane,
  expectAnswer,
  expectError,
  json,
  managementKey,
  noon,
  row,
  startControlPlane,
} from "../../support/gateways/control.ts"

const day = 86_400_000
const secondsAgo = (days: number) => (noon - days * day) / 1000
const keepsNothing = { privacy: { may_train: false, retains_prompts: false } }
const at = (provider: string, perMillion: number | null, more: Readonly<Record<string, unknown>> = {}) => ({
  provider,
  ...(perMillion === null ? {} : { pricing: { prompt: perMillion / 1e6, completion: (2 * perMillion) / 1e6 } }),
  ...more,
})

const config = {
  providers: {
    toy: { name: "Toy Ltd" },
    vault: { plugin: "toy", name: "Vault", ...keepsNothing },
    trains: { plugin: "toy", privacy: { may_train: true, retains_prompts: false } },
  },
  aliases: { "acme/best": "acme/large" },
  models: [
    {
      id: "acme/large",
      name: "Acme Large",
      created: secondsAgo(10),
      context_length: 200_000,
      architecture: { tokenizer: "GPT", input_modalities: ["text", "image"] },
      distillable: true,
      aliases: ["large-9"],
      hosts: [
        at("toy", 4, { supported_parameters: ["tools", "max_tokens"] }),
        at("vault", 5, { supported_parameters: ["seed"] }),
      ],
    },
    {
      id: "acme/small",
      created: secondsAgo(100),
      context_length: 8000,
      architecture: { tokenizer: "Llama3" },
      distillable: false,
      hosts: [at("toy", 0.5, { supported_parameters: ["seed"] }), at("trains", 9)],
    },
    { id: "other/unpriced", context_length: 32_000, hosts: [at("vault", null)] },
    {
      id: "other/painter",
      created: secondsAgo(1),
      context_length: 1000,
      architecture: { output_modalities: ["image"] },
      hosts: [at("toy", 1)],
    },
    {
      id: "other/both",
      created: secondsAgo(50),
      context_length: 8000,
      architecture: {
        tokenizer: "GPT",
        input_modalities: ["text", "image", "audio"],
        output_modalities: ["text", "image"],
      },
      hosts: [at("toy", 1)],
    },
  ],
}
const [large, small, unpriced, painter, both] = config.models.map(({ id }) => id)

let gateway: ControlPlane
let key: string

beforeAll(async () => {
  gateway = await startControlPlane({ config })
  key = await gateway.newKey()
})
afterAll(() => gateway.close())

const read = async (path: string, secret = key): Promise<Anything> => {
  const response = await gateway.send(`/api/v1${path}`, bearer(secret))
  expectAnswer(response, 200)
  return json(response)
}
const ids = async (path: string, secret = key): Promise<ReadonlyArray<string>> =>
  (await read(path, secret)).data.map(({ id }: Anything) => id)

describe("a list of models", () => {
  test.each<[string, ReadonlyArray<string | undefined>]>([
    ["", [large, small, unpriced, both]],
    ["output_modalities=image", [painter, both]],
    ["output_modalities=image,text", [large, small, unpriced, painter, both]],
    ["output_modalities=all", [large, small, unpriced, painter, both]],
    ["output_modalities=embeddings", []],
    ["input_modalities=image", [large, both]],
    ["input_modalities=image,audio", [both]],
    ["supported_parameters=tools,seed", [large]],
    ["supported_parameters=max_completion_tokens", [large]],
    ["supported_parameters=nothing_known", []],
    ["q=ACME%20lar", [large]],
    ["q=acme/", [large, small]],
    ["q=large-9", [large]],
    ["context=8000", [large, small, unpriced, both]],
    ["context=8001", [large, unpriced]],
    ["min_price=0.5", [large, small, both]],
    ["min_price=0.500001", [large, both]],
    ["max_price=1", [small, both]],
    ["min_price=0.6&max_price=3", [both]],
    ["min_output_price=2", [large, both]],
    ["max_output_price=1", [small]],
    ["arch=gpt", [large, both]],
    ["arch=gpt,LLAMA3", [large, small, both]],
    ["model_authors=other", [unpriced, both]],
    ["providers=vault", [large, unpriced]],
    ["providers=toy%20ltd", [large, small, both]],
    ["zdr=true", [large, unpriced]],
    ["providers=toy&zdr=true", []],
    ["distillable=true", [large]],
    ["distillable=false", [small, unpriced, both]],
    ["min_age_days=50", [small, both]],
    ["max_age_days=10.5", [large]],
    ["sort=newest", [large, both, small, unpriced]],
    ["sort=pricing-low-to-high", [small, both, large, unpriced]],
    ["sort=pricing-high-to-low", [large, both, small, unpriced]],
    ["sort=context-high-to-low", [large, unpriced, small, both]],
    ["sort=newest&q=o&limit=1&offset=1", [unpriced]],
  ])("with %p", async (query, expected) => {
    expect(await ids(`/models?${query}`)).toEqual(expected.map(String))
  })

  test("names its next page with what was asked for", async () => {
    const seen: Array<string> = []
    let path: string | null = "/models?output_modalities=text,image&sort=newest&limit=2"
    while (path !== null) {
      const { data, links, total_count }: Anything = await read(path)
      expect(total_count).toBe(5)
      seen.push(...data.map(({ id }: Anything) => id))
      path = links.next === null ? null : links.next.replace("/api/v1", "")
    }
    expect(seen).toEqual([painter, large, both, small, unpriced].map(String))
  })

  test("by what was seen of the hosts", async () => {
    const seen = [
      { model: small, latencyMs: 100, completionTokens: 10, areToolCallsSound: true },
      { model: large, latencyMs: 50, completionTokens: 5, areToolCallsSound: false },
    ]
    await gateway.run(
      Effect.gen(function* () {
        const stats = yield* HostStats
        const { models } = (yield* ProviderRegistry).current()
        for (const { model, ...answer } of seen) {
          for (const host of models.find(({ id }) => id === model)?.hosts.slice(0, 1) ?? []) {
            stats.succeeded(host, { durationMs: 1000, ...answer })
          }
        }
      }),
    )
    expect(await ids("/models?sort=latency-low-to-high")).toEqual([large, small, unpriced, both].map(String))
    expect(await ids("/models?sort=throughput-high-to-low")).toEqual([small, large, unpriced, both].map(String))
    expect(await ids("/models?min_tool_success_rate=0.5")).toEqual([String(small)])
    expect(await ids("/models?max_tool_success_rate=0.5")).toEqual([String(large)])
  })

  test("by what was used", async () => {
    const used = [
      { ...row(key, "0", noon - day), model: "acme/small", promptTokens: 100 },
      { ...row(key, "0", noon - 20 * day), model: "other/both", promptTokens: 1000 },
      // Today is not over.
      { ...row(key, "0", noon), model: "other/unpriced", promptTokens: 5000 },
    ]
    await gateway.run(Effect.flatMap(Storage, (storage) => storage.ledger.append(used)))
    expect(await ids("/models?sort=top-weekly")).toEqual([small, large, unpriced, both].map(String))
    expect(await ids("/models?sort=most-popular")).toEqual([both, small, large, unpriced].map(String))
  })

  test("all problems are reported at once, and what there is no data for is refused", async () => {
    const bad = {
      output_modalities: "words",
      input_modalities: "text,,image",
      supported_parameters: "",
      sort: "intelligence-high-to-low",
      q: "%20",
      context: "many",
      min_price: "-1",
      max_price: "1e3",
      distillable: "yes",
      zdr: "false",
    }
    const query = Object.entries(bad).map(([name, value]) => `${name}=${value}`)
    const { metadata } = await expectError(await gateway.send(`/api/v1/models?${query.join("&")}`, bearer(key)), 400)
    expect(metadata.issues.map(({ path }: Anything) => path).toSorted()).toEqual(Object.keys(bad).toSorted())
    for (const name of ["category", "region", "min_coding_index", "max_agentic_index"]) {
      const error = await expectError(await gateway.send(`/api/v1/models?${name}=1`, bearer(key)), 400)
      expect(error.metadata.path).toBe(name)
      expect(error.message).toContain("cannot be used: this gateway ")
    }
    await expectError(await gateway.send("/api/v1/models?q=a&q=b", bearer(key)), 400)
    await expectError(await gateway.send("/api/v1/models/count?output_modalities=1", bearer(key)), 400)
    await expectError(await gateway.send("/api/v1/models/user?limit=0", bearer(key)), 400)
  })
})

test("the count of models", async () => {
  const body = await read("/models/count")
  expect(() => ModelsCountResponse$inboundSchema.parse(body)).not.toThrow()
  expect(body).toEqual({ data: { count: 4 } })
  expect((await read("/models/count?output_modalities=all")).data.count).toBe(5)
})

describe("the models of a key", () => {
  test("are all of them for a key without rules", async () => {
    expect(await read("/models/user?output_modalities=all")).toEqual(await read("/models?output_modalities=all"))
    expect(await ids("/models/user?offset=1&limit=2")).toEqual([small, unpriced].map(String))
  })

  test("are listed with the hosts that the key may use", async () => {
    const narrow = await gateway.newKey({ allowedModels: ["acme/*"], allowedProviders: ["vault"] })
    const { data, total_count } = await read("/models/user", narrow)
    expect([data[0].id, total_count]).toEqual([large, 1])
    expect(data[0].pricing.prompt).toBe("0.000005")
    expect(data[0].supported_parameters).toEqual(["seed"])
  })

  test("follow a change of the key", async () => {
    const changing = await gateway.newKey({ allowedModels: ["acme/small"] })
    expect(await ids("/models/user", changing)).toEqual([String(small)])
    const change = asManager("PATCH", { allowed_models: ["other/*"] })
    expectAnswer(await gateway.send(`/api/v1/keys/${keyId(changing)}`, change), 200)
    expect(await ids("/models/user", changing)).toEqual([unpriced, both].map(String))
  })

  test.each(["/models", "/models/user"])(
    "were all of the models in /models, whatever the key's lists: %s has those that they allow",
    async (path) => {
      const narrow = await gateway.newKey({ allowedModels: ["acme/*"], allowedProviders: ["vault"] })
      const { data, total_count } = await read(`${path}?offset=0&limit=9`, narrow)
      expect([data[0].id, total_count]).toEqual([large, 1])
      expect(data[0].pricing.prompt).toBe("0.000005")
      expect((await read("/models/count", narrow)).data.count).toBe(1)
      expect((await read("/models?q=small", narrow)).data).toEqual([])
      const texts = await gateway.newKey({ allowedModels: ["acme/*"] })
      expect((await read("/models?output_modalities=all", texts)).total_count).toBeLessThan(5)
      const none = await gateway.newKey({ allowedModels: ["nobody/*"] })
      expect((await read("/embeddings/models", none)).data).toEqual([])
      // A management key sees everything, and so does a key without lists whose limit is no matter of the list.
      expect(await ids("/models", await gateway.newKey({ kind: "management" }))).toEqual(await ids("/models"))
      expect(await ids("/models", await gateway.newKey({ limit: 1n }))).toEqual(await ids("/models"))
    },
  )

  test("have a known price where the key has a limit", async () => {
    expect(await ids("/models/user", await gateway.newKey({ limit: 1n }))).toEqual([large, small, both].map(String))
  })
})

describe("one model", () => {
  test.each(["acme/large", "acme/large:nitro", "acme/best"])("is found by %p", async (name) => {
    const body = await read(`/model/${name}`)
    expect(() => ModelResponse$inboundSchema.parse(body)).not.toThrow()
    expect(body.data).toEqual((await read("/models")).data[0])
  })

  test.each(["acme/none", "acme/large:nothing", "x/best"])("%p is not found", async (name) => {
    await expectError(await gateway.send(`/api/v1/model/${name}`, bearer(key)), 404)
  })
})

/** What OpenAI's and Anthropic's APIs say of a model. */
const asVendorsSay = ({ name, created }: Anything) => ({
  ...{ object: "model", owned_by: "acme", type: "model", display_name: name },
  created_at: new Date(created * 1000).toISOString(),
})

describe("one model, as clients of the vendors ask for it", () => {
  test.each([
    ...["acme/large", "acme%2Flarge", "acme%2flarge", "large", "acme/large:nitro", "acme%2Flarge:nitro", "acme/best"],
    ...["large-9", "acme/large-9", "large-9:floor"],
  ])("%s", async (name) => {
    const [record] = (await read("/models")).data
    expect(await read(`/models/${name}`)).toEqual({ ...record, ...asVendorsSay(record) })
  })

  test.each(["none", "acme/none", "acme%2Fnone", "acme/large:nothing", "x/best", "%20"])(
    "%p is not found",
    async (name) => {
      const error = await expectError(await gateway.send(`/api/v1/models/${name}`, bearer(key)), 404)
      expect(error).toEqual({
        code: 404,
        message: "This model does not exist.",
        metadata: { error_type: "not_found" },
      })
    },
  )

  test("leaves the paths beside it as they were", async () => {
    expect((await read("/models/count")).data).toEqual({ count: 4 })
    expect((await read("/models/user")).total_count).toBe(4)
    expect((await read("/models/acme/large/endpoints")).data.endpoints).toHaveLength(2)
    expect((await read("/models/acme/large")).links.details).toBe("/api/v1/models/acme/large/endpoints")
  })

  test("wants a key, and is the same for every key, as the singular path is", async () => {
    await expectError(await gateway.send("/api/v1/models/acme/large"), 401)
    await expectError(await gateway.send("/api/v1/models/large"), 401)
    const narrow = await gateway.newKey({ allowedModels: ["other/*"] })
    for (const secret of [narrow, managementKey]) {
      const { data } = await read("/model/acme/large", secret)
      expect(await read("/models/acme%2Flarge", secret)).toEqual({ ...data, ...asVendorsSay(data) })
    }
  })
})

test("the providers", async () => {
  const body = await read("/providers", managementKey)
  expect(() => ListProvidersResponse$inboundSchema.parse(body)).not.toThrow()
  expect(body.data.map(({ slug, name }: Anything) => [slug, name])).toEqual([
    ["toy", "Toy Ltd"],
    ["vault", "Vault"],
    ["trains", "trains"],
  ])
})

test("the hosts that keep no prompts", async () => {
  const body = await read("/endpoints/zdr")
  expect(() => ListEndpointsZdrResponse$inboundSchema.parse(body)).not.toThrow()
  expect(body.data.map(({ model_id, tag }: Anything) => [model_id, tag])).toEqual([
    ["acme/large", "vault"],
    ["other/unpriced", "vault"],
  ])
})
