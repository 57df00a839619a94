/** What `headgate check` finds: everything of a start up to the database and the port. */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Logger from "effect/Logger"
import { type PortState, portState } from "../app/start/portState.ts"
import { runtimeWarnings, warningsInto } from "../app/start/start.ts"
import { startFacts } from "../app/start/startFacts.ts"
import { type StartFacts, type SummaryLine, summaryOf, writtenSummary } from "../app/start/startSummary.ts"
import type { GatewayConfig } from "../config/GatewayConfig.ts"
import { loadConfig } from "../config/loadConfig.ts"
import type { Overrides } from "../config/Overrides.ts"
import { prepare } from "../config/prepare.ts"
import type { ConfigInvalid } from "../domain/json/Problem.ts"
import { styleOf } from "../process/terminal.ts"
import { probeFile, probeFolder } from "../sql/sqlite/sqliteProbe.ts"
import { CommandFailed, exitCodes } from "./CommandFailed.ts"
import { write, writeJson } from "./output.ts"

/** One thing that was tried. `code`: what a start would end with. */
interface Tried {
  readonly says: string
  readonly fault?: { readonly code: CommandFailed["code"]; readonly why: string }
}

/** `overrides`: as the flags of a start. Fails with the exit code of a start that would fail. */
export const checkStart = (overrides: Overrides, json: boolean): Effect.Effect<void, CommandFailed> =>
  Effect.gen(function* () {
    const found = yield* Effect.either(wouldStart(overrides))
    endInSpiteOfPlugins()
    if (Either.isLeft(found)) {
      const { problems, message } = found.left
      if (json) yield* writeJson({ ok: false, problems })
      const count = `${problems.length} ${problems.length === 1 ? "problem" : "problems"}`
      return yield* new CommandFailed({
        code: exitCodes.badConfig,
        message: `${count} in the configuration\n${message}`,
      })
    }
    const { facts, config } = found.right
    const port = triedPort(config, yield* Effect.promise(() => portState(config.server)))
    const storage = triedStorage(config)
    const faults = [storage, port].flatMap(({ fault }) => (fault === undefined ? [] : [fault]))
    if (json) yield* writeJson(asJson(facts, port, storage))
    else yield* write(writtenSummary(checkedLines(facts, port, storage), styleOf(process.stdout)))
    const [fault] = faults
    if (fault === undefined) return
    return yield* new CommandFailed({ code: fault.code, message: faults.map(({ why }) => why).join("; ") })
  })

/** The facts of a gateway that would be started here. Warnings are among them; nothing is logged. */
const wouldStart = (
  overrides: Overrides,
): Effect.Effect<{ readonly facts: StartFacts; readonly config: GatewayConfig }, ConfigInvalid> => {
  const logged: Array<string> = []
  return Effect.gen(function* () {
    const reading = yield* loadConfig(overrides)
    const { found, setup } = yield* prepare(reading)
    const { config } = setup
    const warnings = [...reading.warnings, ...runtimeWarnings(config), ...logged]
    return { config, facts: startFacts({ loaded: reading, found, setup, port: config.server.port, warnings }) }
  }).pipe(Effect.provide(Logger.replace(Logger.defaultLogger, warningsInto(logged))))
}

const triedPort = ({ server: { hostname, port } }: GatewayConfig, tried: PortState): Tried => {
  const name = `${hostname} port ${port}`
  if (tried.state === "free") return { says: port === 0 ? "any free one" : `${port} is free at ${hostname}` }
  if (tried.state === "unusable") {
    const why = `${name}: ${tried.why}`
    return { says: why, fault: { code: exitCodes.noGateway, why } }
  }
  const says = `${port} is used by ${tried.by}`
  return tried.isGateway
    ? { says }
    : { says, fault: { code: exitCodes.noGateway, why: `${name} is used by ${tried.by}` } }
}

const triedStorage = ({ storage, spoolFolder }: GatewayConfig): Tried => {
  if (storage._tag === "Memory") return { says: "none: everything ends with the process" }
  if (storage._tag === "Postgres") {
    const why = probeFolder(spoolFolder)
    if (why === undefined) return { says: "the server was not asked; the spool's folder can be written" }
    return { says: `the server was not asked; the spool's folder: ${why}` }
  }
  const probed = probeFile(storage.path)
  if (probed.state === "ready") return { says: "the database is there and can be written" }
  if (probed.state === "absent") return { says: "there is no database yet; it can be made" }
  if (probed.state === "in-use") return { says: `the database is in use by a running gateway (pid ${probed.pid})` }
  const why = `storage: ${probed.why}`
  return {
    says: probed.why,
    fault: { code: probed.state === "corrupt" ? exitCodes.badFile : exitCodes.cannotWrite, why },
  }
}

const checkedLines = (facts: StartFacts, port: Tried, storage: Tried): ReadonlyArray<SummaryLine> => [
  ...summaryOf(facts).filter(([name]) => name !== "no key" && name !== "warning"),
  ["key", facts.providers.on.map(({ slug, key }) => `${slug}: ${key}`)],
  ["port", [port.says]],
  ["storage", [storage.says]],
  ...(facts.warnings.length === 0 ? [] : [["warning", facts.warnings] as const]),
]

const asJson = (facts: StartFacts, port: Tried, storage: Tried) => {
  const { on, off, others } = facts.providers
  return {
    ok: port.fault === undefined && storage.fault === undefined,
    problems: [],
    versions: facts.versions,
    address: facts.address,
    workers: facts.workers,
    file: facts.file,
    folder: facts.folder,
    data: facts.data,
    providers: {
      on: on.map(({ slug, key, lacksKey }) => ({ slug, key, lacks_key: lacksKey })),
      off,
      others,
    },
    models: facts.models,
    hosts: facts.hosts,
    usd_per_million_tokens: facts.prices,
    strategy: facts.strategy,
    strategies: facts.strategies,
    port: { ok: port.fault === undefined, says: port.says },
    storage: { ok: storage.fault === undefined, says: storage.says },
    warnings: facts.warnings,
  }
}

/** A timer that a plugin has left behind would keep the process for ever. A process with a parent that it talks to ends with it. */
const endInSpiteOfPlugins = (): void => {
  if (process.send === undefined) setTimeout(() => process.exit(), 1000).unref()
}
