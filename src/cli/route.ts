/** `headgate route`: how a request for a model would be routed now, and why. Calls no host. docs/routing.md */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { isJsonObject, isNestedDeeper, type JsonObject } from "../domain/json/json.ts"
import { formRoutes } from "../domain/request/forms.ts"
import { Explanation } from "../http/data/Explanation.ts"
import { deepest } from "../wire/jsonDepth.ts"
import { CommandFailed, exitCodes, wrongUse } from "./CommandFailed.ts"
import { connect, urlOption } from "./gatewayClient.ts"
import { jsonOption } from "./keyFlags.ts"
import { findHash } from "./keys/keyRecords.ts"
import { type Column, plain, writeJson, writeNote, writeTable } from "./output.ts"

const decodeExplanation = Schema.decodeUnknown(Explanation)

/** A host that would be tried, or is excluded. */
interface Row {
  /** `null`: excluded. */
  readonly rank: number | null
  readonly model: string
  readonly host: string
  readonly cost: string
  readonly why: string
}

const rowsOf = ({ attempts, excluded, dropped_parameters: dropped }: Explanation): ReadonlyArray<Row> => [
  ...attempts.map(({ rank, model, host, estimated_cost_usd, why, api_key }) => {
    const numbers = Object.entries(isJsonObject(why) ? why : {}).map(
      ([name, value]) => `${name} ${typeof value === "string" ? value : JSON.stringify(value)}`,
    )
    const lost = dropped[host] ?? []
    const notes = [
      ...numbers,
      ...(api_key === undefined ? [] : [api_key]),
      ...(lost.length === 0 ? [] : [`not sent: ${lost.join(" ")}`]),
    ]
    return { rank, model, host, cost: estimated_cost_usd ?? "?", why: notes.join(", ") }
  }),
  ...excluded.map(({ model, host, by, reason }) => ({ rank: null, model, host, cost: "-", why: `${by}: ${reason}` })),
]

const columns: ReadonlyArray<Column<Row>> = [
  { title: "TRY", value: ({ rank }) => (rank === null ? "-" : `${rank}`), align: "right" },
  { title: "MODEL", value: ({ model }) => model },
  { title: "HOST", value: ({ host }) => host },
  { title: "ABOUT USD", value: ({ cost }) => cost, align: "right" },
  { title: "WHY", value: ({ why }) => why },
]

const shareColumns: ReadonlyArray<Column<NonNullable<Explanation["draws"]>["shares"][number]>> = [
  { title: "MODEL", value: ({ model }) => model },
  { title: "HOST", value: ({ host }) => host },
  { title: "FIRST", value: ({ first }) => `${first}`, align: "right" },
  { title: "SHARE", value: ({ share }) => `${(share * 100).toFixed(1)} %`, align: "right" },
]

/** A request in a file; `-`: standard input. */
const readBody = (file: string): Effect.Effect<JsonObject, CommandFailed> =>
  Effect.gen(function* () {
    const text = yield* Effect.tryPromise({
      try: () => (file === "-" ? Bun.stdin.text() : Bun.file(file).text()),
      catch: () =>
        new CommandFailed({ code: exitCodes.noFile, message: `${plain(file)}: expected a file that can be read` }),
    })
    const body = yield* Effect.try({
      try: (): unknown => JSON.parse(text),
      catch: () => undefined,
    }).pipe(Effect.orElseSucceed(() => undefined))
    if (isJsonObject(body) && !isNestedDeeper(body, deepest)) return body
    return yield* new CommandFailed({
      code: exitCodes.badFile,
      message: `${plain(file)}: expected the body of a request, a JSON object`,
    })
  })

const priceOf = (flag: string, text: string) =>
  /^\d+(\.\d+)?$/.test(text)
    ? Effect.succeed(Number(text))
    : Effect.fail(wrongUse(`${flag}: expected USD per million tokens such as 2.50, got "${plain(text)}"`))

const names = (flag: string, description: string) =>
  Options.text(flag).pipe(Options.withDescription(description), Options.repeated)

const priceOption = (flag: string, of: string) =>
  Options.text(flag).pipe(Options.withDescription(`most USD per million tokens of the ${of}`), Options.optional)

const preferenceOptions = {
  sort: Options.text("sort").pipe(
    Options.withDescription("how to order the hosts: price, throughput, latency, or another strategy"),
    Options.optional,
  ),
  order: names("order", "a provider or host to try first; again for the next one"),
  only: names("only", "a provider or host that may be used; again for more"),
  ignore: names("ignore", "a provider or host that may not be used; again for more"),
  promptPrice: priceOption("max-price-prompt", "prompt"),
  completionPrice: priceOption("max-price-completion", "output"),
  zdr: Options.boolean("zdr").pipe(Options.withDescription("only hosts that keep no prompts")),
}

interface Preferences {
  readonly sort: Option.Option<string>
  readonly order: ReadonlyArray<string>
  readonly only: ReadonlyArray<string>
  readonly ignore: ReadonlyArray<string>
  readonly promptPrice: Option.Option<string>
  readonly completionPrice: Option.Option<string>
  readonly zdr: boolean
}

/** The `provider` member of a request, with what the flags say in the place of what it had. */
const withPreferences = (provider: JsonObject, flags: Preferences): Effect.Effect<JsonObject, CommandFailed> =>
  Effect.gen(function* () {
    const { sort, order, only, ignore, promptPrice, completionPrice, zdr } = flags
    const ceilings = {
      ...(Option.isSome(promptPrice) ? { prompt: yield* priceOf("--max-price-prompt", promptPrice.value) } : {}),
      ...(Option.isSome(completionPrice)
        ? { completion: yield* priceOf("--max-price-completion", completionPrice.value) }
        : {}),
    }
    const { max_price: before } = provider
    return {
      ...provider,
      ...(Option.isSome(sort) ? { sort: sort.value } : {}),
      ...(order.length > 0 ? { order } : {}),
      ...(only.length > 0 ? { only } : {}),
      ...(ignore.length > 0 ? { ignore } : {}),
      ...(Object.keys(ceilings).length > 0
        ? { max_price: { ...(isJsonObject(before) ? before : {}), ...ceilings } }
        : {}),
      ...(zdr ? { zdr } : {}),
    }
  })

const [firstForm, ...otherForms] = formRoutes.keys()
const formNames = [`${firstForm} (default)`, ...otherForms].join(", ")

export const route = Command.make(
  "route",
  {
    model: Args.text({ name: "model" }).pipe(
      Args.withDescription("as a request names it: an id, an alias, with variants"),
      Args.optional,
    ),
    body: Options.text("body").pipe(
      Options.withDescription("a file with the whole body of a request; -: standard input"),
      Options.optional,
    ),
    form: Options.text("form").pipe(
      Options.withDescription(`the API format of the body: ${formNames}`),
      Options.optional,
    ),
    ...preferenceOptions,
    key: Options.text("key").pipe(
      Options.withDescription(
        "the key whose budget and lists count, by name, hash, or at least 6 characters of the hash's beginning; else none do",
      ),
      Options.optional,
    ),
    seed: Options.integer("seed").pipe(
      Options.withDescription("repeats the random draws of an earlier plan"),
      Options.optional,
    ),
    draws: Options.integer("draws").pipe(
      Options.withDescription(
        "repeats the draw of the strategy so often, 1 to 1000: how often each host is the first one",
      ),
      Options.optional,
    ),
    json: jsonOption,
    url: urlOption,
  },
  ({ model, body: file, form, key, seed, draws, json, url, ...flags }) =>
    Effect.gen(function* () {
      if (Option.isNone(model) && Option.isNone(file))
        return yield* wrongUse("expected a model, or a request with --body")
      if (Option.isSome(form) && Option.isNone(file)) return yield* wrongUse("--form: expected a request with --body")
      const written = Option.isSome(file)
        ? yield* readBody(file.value)
        : { messages: [{ role: "user", content: "Hello" }] }
      const asked: JsonObject = { ...written, ...(Option.isSome(model) ? { model: model.value } : {}) }
      const before = asked["provider"]
      const provider = yield* withPreferences(isJsonObject(before) ? before : {}, flags)
      const gateway = yield* connect(url)
      const query = new URLSearchParams({
        ...(Option.isSome(form) ? { form: form.value } : {}),
        ...(Option.isSome(seed) ? { seed: `${seed.value}` } : {}),
        ...(Option.isSome(draws) ? { draws: `${draws.value}` } : {}),
        ...(Option.isSome(key) ? { key_hash: yield* findHash(gateway, key.value, ["ordinary"]) } : {}),
      })
      const { data } = yield* gateway.call(
        {
          method: "POST",
          path: `/route/explain${query.size === 0 ? "" : `?${query}`}`,
          body: Object.keys(provider).length === 0 ? asked : { ...asked, provider },
        },
        Schema.Struct({ data: Schema.Unknown }),
      )
      const explanation = yield* Effect.mapError(
        decodeExplanation(data),
        () => new CommandFailed({ code: exitCodes.failed, message: "the gateway did not answer with a plan" }),
      )
      const { strategy, seed: drawn, error } = explanation
      if (json) yield* writeJson(data)
      else {
        yield* writeNote(`strategy ${strategy}, seed ${drawn}`)
        yield* writeTable(rowsOf(explanation), columns, { empty: "no hosts", isFaint: ({ rank }) => rank === null })
        if (explanation.draws !== undefined)
          yield* writeTable(explanation.draws.shares, shareColumns, {
            empty: "no draws",
            isFaint: ({ first }) => first === 0,
          })
      }
      if (error === undefined) return
      const message = `such a request would be answered ${error.code}: ${plain(error.message)}`
      return yield* new CommandFailed({ code: exitCodes.failed, message })
    }),
).pipe(Command.withDescription("Explains how a request would be routed now. Calls no host."))
