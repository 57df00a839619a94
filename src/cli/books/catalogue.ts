/** `headgate catalogue refresh`: compares a catalogue with the one in force, and puts it in its place. docs/catalogue.md */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { type Catalogue, problemsIn, readCatalogue } from "../../catalogue/catalogueFile.ts"
import { type CatalogueChanges, changesBetween } from "../../catalogue/changes.ts"
import { catalogueFile, installCatalogue } from "../../config/installedCatalogue.ts"
import { loadConfig } from "../../config/loadConfig.ts"
import { prepare } from "../../config/prepare.ts"
import { resolveConfig } from "../../config/resolveConfig.ts"
import { endpointKey, type Host } from "../../domain/hosts/Host.ts"
import type { ConfigInvalid, Problem } from "../../domain/json/Problem.ts"
import { dayMs } from "../../domain/keys/limitWindows.ts"
import { formatUsd, type Picodollars } from "../../domain/price/money.ts"
import type { Pricing } from "../../domain/price/price.ts"
import { withUnsetSecrets } from "../../plugin/Secret.ts"
import { layerLogger } from "../../process/log/logger.ts"
import { type Corrections, correctedLedger } from "../../services/money/reconcile.ts"
import { makeLedgerReads } from "../../sql/repositories/ledgerRepository.ts"
import { CommandFailed, exitCodes } from "../CommandFailed.ts"
import { jsonOption } from "../keyFlags.ts"
import { treeOf } from "../misspelt.ts"
import { type Column, plain, write, writeJson, writeTable } from "../output.ts"
import { catalogueText } from "./catalogueSource.ts"
import { reading } from "./readBooks.ts"

const lines = (problems: ReadonlyArray<Problem>): string =>
  problems.map(({ path, message }) => plain(`${path}: ${message}`)).join("\n")

/** The catalogue in the source. Fails if any entry is wrong. */
const catalogueIn = (source: string): Effect.Effect<Catalogue, CommandFailed> =>
  Effect.gen(function* () {
    const text = yield* catalogueText(source)
    const wrong = (problems: ReadonlyArray<Problem>) =>
      new CommandFailed({ code: exitCodes.badFile, message: `${plain(source)} does not validate\n${lines(problems)}` })
    const raw = yield* Effect.try({
      try: (): unknown => JSON.parse(text),
      catch: () => wrong([{ path: "", message: "expected JSON" }]),
    })
    const catalogue = yield* Either.mapLeft(readCatalogue(raw), wrong)
    const problems = problemsIn(catalogue)
    return problems.length > 0 ? yield* wrong(problems) : catalogue
  })

/** The models in force and those that the catalogue makes of them, for the providers that are on here. */
const compared = (catalogue: Catalogue) =>
  Effect.gen(function* () {
    const reading = yield* loadConfig()
    const { found, setup: inForce } = yield* prepare(reading)
    const wanted = yield* resolveConfig({ ...found, catalogue }, reading)
    const providers = [...inForce.resolved.providers.values()].flatMap((each) =>
      each.callable ? [each.plugin.id] : [],
    )
    return {
      file: catalogueFile(reading.config),
      off: [...catalogue.keys()].filter((id) => !providers.includes(id)),
      changes: changesBetween(inForce.resolved.models, wanted.resolved.models),
    }
  })

/** `compared`, also if secrets are not set in this environment. Other faults of the configuration are reported as a start reports them. */
const comparedWith = (catalogue: Catalogue) =>
  Effect.orElse(withUnsetSecrets(compared(catalogue)), () => compared(catalogue)).pipe(
    Effect.mapError(
      ({ problems }: ConfigInvalid) => new CommandFailed({ code: exitCodes.badConfig, message: lines(problems) }),
    ),
    Effect.provide(layerLogger),
  )

interface Difference {
  readonly model: string
  readonly host: string
  readonly rows: number
  readonly before: Picodollars
  readonly after: Picodollars
}

/** What the requests of the last seven days cost at the prices in force and at the new ones, where those differ. */
const weekAt = ({ repriced }: CatalogueChanges): Effect.Effect<ReadonlyArray<Difference>, CommandFailed> =>
  Effect.gen(function* () {
    if (repriced.length === 0) return []
    const since = (yield* Clock.currentTimeMillis) - 7 * dayMs
    const at = (prices: ReadonlyMap<string, Pricing | null>) =>
      reading((sql) =>
        correctedLedger({ ledger: makeLedgerReads(sql) }, ({ model, host, admittedAt }) =>
          admittedAt < since ? undefined : prices.get(`${model} ${host}`),
        ),
      )
    const before = totals(yield* at(new Map(repriced.map(({ host, before }) => [endpointKey(host), before]))))
    const after = totals(yield* at(new Map(repriced.map(({ host }) => [endpointKey(host), host.pricing]))))
    return [...after].map(([key, { cost, ...row }]) => ({ ...row, before: before.get(key)?.cost ?? 0n, after: cost }))
  })

const totals = ({ hosts }: Corrections) => {
  const sums = new Map<string, { model: string; host: string; rows: number; cost: Picodollars }>()
  for (const { model, host, rows, corrected } of hosts) {
    const sum = sums.get(`${model} ${host}`) ?? { model, host, rows: 0, cost: 0n }
    sums.set(`${model} ${host}`, { model, host, rows: sum.rows + rows, cost: sum.cost + corrected })
  }
  return sums
}

const columns: ReadonlyArray<Column<Difference>> = [
  { title: "HOST", value: ({ model, host }) => `${model} ${host}`.trim() },
  { title: "ROWS", value: ({ rows }) => `${rows}`, align: "right" },
  { title: "NOW", value: ({ before }) => formatUsd(before), align: "right" },
  { title: "NEW", value: ({ after }) => formatUsd(after), align: "right" },
  { title: "MORE", value: ({ before, after }) => formatUsd(after - before), align: "right" },
]

const priceOf = (pricing: Pricing | null): string =>
  pricing === null
    ? "unknown"
    : `${formatUsd(pricing.prompt * 1_000_000n)} / ${formatUsd(pricing.completion * 1_000_000n)}`

const nameOf = ({ model, tag }: Host): string => `${model} ${tag}`

/** A line for each change: what it is, and which model or host. Prices are USD per million tokens of prompt and output. */
const writtenChanges = (changes: CatalogueChanges): ReadonlyArray<string> => [
  ...changes.modelsAdded.map((id) => `+ model ${id}`),
  ...changes.modelsRemoved.map((id) => `- model ${id}`),
  ...changes.hostsAdded.map((host) => `+ host ${nameOf(host)}`),
  ...changes.hostsRemoved.map((host) => `- host ${nameOf(host)}`),
  ...changes.repriced.map(
    ({ host, before }) => `~ price ${nameOf(host)}: ${priceOf(before)} -> ${priceOf(host.pricing)}`,
  ),
]

const total = (differences: ReadonlyArray<Difference>): Difference => ({
  model: "total",
  host: "",
  rows: differences.reduce((sum, { rows }) => sum + rows, 0),
  before: differences.reduce((sum, { before }) => sum + before, 0n),
  after: differences.reduce((sum, { after }) => sum + after, 0n),
})

const shownJson = (changes: CatalogueChanges, week: ReadonlyArray<Difference>, off: ReadonlyArray<string>) => ({
  models_added: changes.modelsAdded,
  models_removed: changes.modelsRemoved,
  hosts_added: changes.hostsAdded.map(nameOf),
  hosts_removed: changes.hostsRemoved.map(nameOf),
  hosts_repriced: changes.repriced.map(({ host }) => nameOf(host)),
  providers_off: off,
  last_week: week.map(({ model, host, rows, before, after }) => ({
    ...{ model, host, rows, now_usd: formatUsd(before), new_usd: formatUsd(after) },
  })),
})

const source = Args.path({ name: "source" }).pipe(
  Args.withDescription("a file, or a URL: https, or an address of this machine"),
)

const applyOption = Options.boolean("apply").pipe(
  Options.withDescription("write it to catalogue.file; a gateway has it after its next start or reload"),
)

const refresh = Command.make("refresh", { source, apply: applyOption, json: jsonOption }, ({ source, apply, json }) =>
  Effect.gen(function* () {
    const catalogue = yield* catalogueIn(source)
    const { file, off, changes } = yield* comparedWith(catalogue)
    // A new installation has no ledger yet, and storage in memory none to read.
    const week = yield* Effect.catchAll(weekAt(changes), ({ message }) =>
      Effect.sync((): ReadonlyArray<Difference> => {
        process.stderr.write(`headgate: no requests to compare: ${message}\n`)
        return []
      }),
    )
    if (json) yield* writeJson(shownJson(changes, week, off))
    else {
      const written = writtenChanges(changes)
      yield* write(written.length === 0 ? "no change for the providers that are on" : written.join("\n"))
      if (week.length > 0) yield* writeTable([...week, total(week)], columns, { empty: "" })
    }
    if (!apply) return
    yield* Effect.tryPromise({
      try: () => installCatalogue(file, catalogue),
      catch: () => new CommandFailed({ code: exitCodes.cannotWrite, message: `${file}: cannot be written` }),
    })
    if (!json) yield* write(`written to ${file}`)
  }),
).pipe(
  Command.withDescription(
    "Checks a catalogue, and shows what it changes: models, hosts, prices, and what last week's requests would have cost.",
  ),
)

const group = Command.make("catalogue").pipe(
  Command.withDescription("The models and prices that providers bring."),
  Command.withSubcommands([refresh]),
)

export const catalogue = { command: group, tree: treeOf(group, [treeOf(refresh)]) }
