/** The documented type of a listed model is the form that the catalogue decodes: neither has what the other lacks. */
import { expect, expectTypeOf, test } from "bun:test"
import type * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import type { ListedHost, ListedModel, ListedPriceOverride, ListedPricing } from "headgate/plugin"
import { decodeModels, servedBy } from "../../src/catalogue/models.ts"
import { HostEntry, ModelEntry } from "../../src/catalogue/schema.ts"

/** Every member, so that a new one has to be added here too. */
type Whole<A> = { readonly [Member in keyof Required<A>]: Exclude<A[Member], undefined | null> }

const prices = {
  prompt: "0.000001",
  completion: 0.000002,
  request: "0.01",
  image: "0",
  web_search: "0.01",
  internal_reasoning: "0.000003",
  input_cache_read: "0.0000001",
  input_cache_read_explicit: "0.00000005",
  input_cache_write: "0.00000125",
  input_cache_write_1h: "0.000002",
  image_token: "0",
  input_audio_cache: "0",
  audio: "0.000004",
  audio_output: "0.000005",
  image_output: "0.000006",
}
const override: Whole<ListedPriceOverride> = {
  ...prices,
  starts: "2027-01-01",
  min_prompt_tokens: 1000,
  utc_start: 2200,
  utc_end: 600,
  utc_days: ["monday", "sunday"],
}
const pricing: Whole<ListedPricing> = {
  ...prices,
  discount: 0.5,
  overrides: [override, {}],
}
const host: Whole<ListedHost> = {
  variant: "turbo",
  model: "small-2",
  base_model: "small-2-2026-11-01",
  api: "chat",
  quantization: "fp8",
  tags: ["eu"],
  pricing,
  context_length: 1000,
  max_completion_tokens: 100,
  max_prompt_tokens: 900,
  supported_parameters: ["tools"],
  supports_tool_choice: { none: true, auto: true, required: false, function: true },
  supports_implicit_caching: true,
  bills_after_abort: true,
  input_modalities: ["text"],
  output_modalities: ["text"],
  expiration_date: "2027-06-30",
  native_tools: { "router:web_search": { type: "web_search" } },
  supports_voice_cloning: true,
  supports_multiple_audio_references: true,
  supports_image_reference: true,
  supports_diarization: true,
}
const model: Whole<ListedModel> = {
  id: "acme/small",
  aliases: ["small-2026-01-01"],
  canonical_slug: "acme/small-20260101",
  name: "Small",
  hugging_face_id: "Acme/Small",
  description: "A small one.",
  created: 1_760_000_000,
  context_length: 1000,
  architecture: {
    tokenizer: "Other",
    instruct_type: null,
    input_modalities: ["text", "image"],
    output_modalities: ["text"],
  },
  distillable: true,
  knowledge_cutoff: "2025-12",
  reasoning: { mandatory: true, supported_efforts: ["low", "high"], supports_max_tokens: true },
  hosts: [host, { variant: "eu", pricing: null }],
}

const facts = { name: "Acme", privacy: { mayTrain: false, retainsPrompts: false }, local: false }
const decoded = (...models: ReadonlyArray<ListedModel>) => {
  const { models: read, problems } = decodeModels(servedBy(models, "acme"), new Map([["acme", facts]]))
  expect(problems).toEqual([])
  return read
}

test("a model with every member is accepted, and all of it is read", () => {
  const [read] = decoded(model)
  expect(read).toMatchObject({
    name: "Small",
    contextLength: 1000,
    architecture: { inputModalities: ["text", "image"] },
    distillable: true,
  })
  expect(read?.hosts.map(({ inputModalities }) => inputModalities)).toEqual([["text"], ["text", "image"]])
  expect(read?.hosts.map(({ tag }) => String(tag))).toEqual(["acme/turbo", "acme/eu"])
  expect(read?.hosts[0]).toMatchObject({
    upstreamModel: "small-2",
    quantization: "fp8",
    maxCompletionTokens: 100,
    pricing: { discountPpm: 500_000n, overrides: [{ utcStart: 2200, prices: { prompt: 1_000_000n } }, {}] },
  })
})

test("what has a default may be left out", () => {
  const [read] = decoded({ id: "acme/small", context_length: 10 })
  expect(read).toMatchObject({ name: "acme/small", hosts: [{ upstreamModel: "small", maxCompletionTokens: 10 }] })
})

const membersOf = (schema: Schema.Schema.All): Array<string> => {
  const ast = SchemaAST.encodedAST(schema.ast)
  if (ast._tag !== "TypeLiteral") throw new Error(`no members: ${ast._tag}`)
  return ast.propertySignatures.map(({ name }) => String(name)).toSorted()
}

// The types are compared by the compiler (`tsc`), and the samples, which have every member of the types, when this runs.
test("the types have the members of the schemas", () => {
  type Entry = typeof HostEntry.Encoded
  type PricingEntry = NonNullable<Entry["pricing"]>
  expectTypeOf<keyof ListedModel>().toEqualTypeOf<keyof typeof ModelEntry.Encoded>()
  expectTypeOf<keyof ListedHost | "provider">().toEqualTypeOf<keyof Entry>()
  expectTypeOf<keyof ListedPricing>().toEqualTypeOf<keyof PricingEntry>()
  expectTypeOf<keyof ListedPriceOverride>().toEqualTypeOf<keyof NonNullable<PricingEntry["overrides"]>[number]>()
  expectTypeOf<ListedHost & { readonly provider: string }>().toExtend<Entry>()
  expect(Object.keys(model).toSorted()).toEqual(membersOf(ModelEntry))
  expect([...Object.keys(host), "provider"].toSorted()).toEqual(membersOf(HostEntry))
})
