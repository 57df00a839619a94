/** `headgate models`: the models of a running gateway, or the hosts of each. */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { nearModels } from "../catalogue/names.ts"
import { formatUsd, scaled } from "../domain/price/money.ts"
import { CommandFailed, exitCodes } from "./CommandFailed.ts"
import { connect, type Gateway, urlOption } from "./gatewayClient.ts"
import { jsonOption } from "./keyFlags.ts"
import { type Column, plain, writeJson, writeTable } from "./output.ts"

/** USD per token, as decimals; -1: unknown. */
const Pricing = Schema.Struct({ prompt: Schema.String, completion: Schema.String })

/** The members that are shown. */
const Model = Schema.Struct({
  id: Schema.String,
  context_length: Schema.Number,
  pricing: Pricing,
  links: Schema.Struct({ details: Schema.String }),
})
type Model = typeof Model.Type

const Percentiles = Schema.NullOr(Schema.Struct({ p50: Schema.Number }))

const Host = Schema.Struct({
  model_id: Schema.String,
  tag: Schema.String,
  provider_name: Schema.String,
  context_length: Schema.Number,
  pricing: Pricing,
  quantization: Schema.String,
  status: Schema.Number,
  uptime_last_1d: Schema.NullOr(Schema.Number),
  latency_last_30m: Percentiles,
  throughput_last_30m: Percentiles,
})
type Host = typeof Host.Type

interface Listed {
  readonly model: Model
  /** As the gateway answered. */
  readonly answer: unknown
}

const decodeModel = Schema.decodeUnknown(Model)
const decodeHosts = Schema.decodeUnknown(Schema.Struct({ endpoints: Schema.Array(Host) }))

const notOurs = (what: string) => () =>
  new CommandFailed({ code: exitCodes.failed, message: `the gateway did not answer with ${what}` })

/** All models, in the gateway's order, those for embeddings and rerank too. */
const listModels = (gateway: Gateway): Effect.Effect<ReadonlyArray<Listed>, CommandFailed> =>
  Effect.gen(function* () {
    const Answer = Schema.Struct({ data: Schema.Array(Schema.Unknown) })
    const { data } = yield* gateway.call({ method: "GET", path: "/models?output_modalities=all" }, Answer)
    return yield* Effect.forEach(data, (answer) =>
      Effect.map(Effect.mapError(decodeModel(answer), notOurs("models")), (model) => ({ model, answer })),
    )
  })

/** Without `*`: ids that have the text in them, whatever its case. With `*`, which stands for any text: whole ids. */
const matcher = (pattern: string): ((id: string) => boolean) => {
  const wanted = pattern.toLowerCase()
  if (!wanted.includes("*")) return (id) => id.toLowerCase().includes(wanted)
  const expression = new RegExp(`^${wanted.split("*").map(RegExp.escape).join(".*")}$`)
  return (id) => expression.test(id.toLowerCase())
}

/** Fails where there are models and none is meant, with near names. */
const meant = (models: ReadonlyArray<Listed>, pattern: Option.Option<string>) => {
  if (Option.isNone(pattern)) return Effect.succeed(models)
  const matches = matcher(pattern.value)
  // An id in full means this model, also where longer ids begin with it.
  const exact = models.filter(({ model }) => model.id === pattern.value)
  const found = exact.length > 0 ? exact : models.filter(({ model }) => matches(model.id))
  if (found.length > 0) return Effect.succeed(found)
  const near = nearModels(
    pattern.value,
    models.map(({ model }) => model),
  )
  const message = `no model matches "${plain(pattern.value)}"${near.length === 0 ? "" : `; near: ${near.join(", ")}`}`
  return Effect.fail(new CommandFailed({ code: exitCodes.failed, message }))
}

/** Calls at once. */
const concurrency = 16

/** Each with its hosts, and what the gateway answered about them. */
const withHosts = (gateway: Gateway, models: ReadonlyArray<Listed>) =>
  Effect.forEach(
    models,
    ({ model }) =>
      Effect.gen(function* () {
        const path = model.links.details.replace(/^\/api\/v1/, "")
        const { data } = yield* gateway.call({ method: "GET", path }, Schema.Struct({ data: Schema.Unknown }))
        const { endpoints } = yield* Effect.mapError(decodeHosts(data), notOurs("hosts"))
        return { model, hosts: endpoints, answer: data }
      }),
    { concurrency },
  )

/** USD per million tokens, from USD per token. */
const perMillion = (price: string): string => {
  const picodollars = scaled(price, 18)?.value
  return picodollars === undefined ? "?" : formatUsd(picodollars)
}

interface WithHosts {
  readonly model: Model
  readonly hosts: ReadonlyArray<Host>
}

const modelColumns: ReadonlyArray<Column<WithHosts>> = [
  { title: "MODEL", value: ({ model }) => model.id },
  { title: "CONTEXT", value: ({ model }) => `${model.context_length}`, align: "right" },
  { title: "IN $/M", value: ({ model }) => perMillion(model.pricing.prompt), align: "right" },
  { title: "OUT $/M", value: ({ model }) => perMillion(model.pricing.completion), align: "right" },
  { title: "HOSTS", value: ({ hosts }) => `${hosts.length}`, align: "right" },
  { title: "PROVIDERS", value: ({ hosts }) => [...new Set(hosts.map((host) => host.provider_name))].join(", ") },
]

/** docs/commands.md#models says what each means. */
const statuses: ReadonlyMap<number, string> = new Map([
  [0, "normal"],
  [-1, "degraded"],
  [-2, "down"],
  [-3, "resting"],
  [-5, "demoted"],
  [-10, "off"],
])

const figure = (value: number | null | undefined): string => (value == null ? "-" : `${Number(value.toFixed(1))}`)

const hostColumns: ReadonlyArray<Column<Host>> = [
  { title: "MODEL", value: ({ model_id }) => model_id },
  { title: "HOST", value: ({ tag }) => tag },
  { title: "CONTEXT", value: (host) => `${host.context_length}`, align: "right" },
  { title: "IN $/M", value: ({ pricing }) => perMillion(pricing.prompt), align: "right" },
  { title: "OUT $/M", value: ({ pricing }) => perMillion(pricing.completion), align: "right" },
  { title: "QUANTIZATION", value: ({ quantization }) => quantization },
  { title: "UPTIME %", value: (host) => figure(host.uptime_last_1d), align: "right" },
  { title: "LATENCY MS", value: (host) => figure(host.latency_last_30m?.p50), align: "right" },
  { title: "TOKENS/S", value: (host) => figure(host.throughput_last_30m?.p50), align: "right" },
  { title: "STATUS", value: ({ status }) => statuses.get(status) ?? `${status}` },
]

export const models = Command.make(
  "models",
  {
    pattern: Args.text({ name: "pattern" }).pipe(
      Args.withDescription(
        "models whose id has this text in it; with *, which stands for any text, models with this id",
      ),
      Args.optional,
    ),
    hosts: Options.boolean("hosts").pipe(
      Options.withDescription(
        "a line for each host: prices, uptime of the last day in percent, medians of the last 30 minutes (milliseconds to the first token, output tokens per second), and its status",
      ),
    ),
    json: jsonOption,
    url: urlOption,
  },
  ({ pattern, hosts, json, url }) =>
    Effect.gen(function* () {
      const gateway = yield* connect(url)
      const found = yield* meant(yield* listModels(gateway), pattern)
      if (json && !hosts) return yield* writeJson(found.map(({ answer }) => answer))
      const listed = yield* withHosts(gateway, found)
      if (json) return yield* writeJson(listed.map(({ answer }) => answer))
      if (!hosts) return yield* writeTable(listed, modelColumns, { empty: "no models" })
      yield* writeTable(
        listed.flatMap((each) => each.hosts),
        hostColumns,
        { empty: "no models", isFaint: ({ status }) => status === -10 },
      )
    }),
).pipe(Command.withDescription("Models of a running gateway, with prices in USD per million tokens."))
