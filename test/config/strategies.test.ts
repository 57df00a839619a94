/** Routing strategies and their part of the configuration. */
import { describe, expect, test } from "bun:test"
import * as Schema from "effect/Schema"
import { PluginInvalid } from "../../src/plugin/checks/PluginInvalid.ts"
import { defineStrategy } from "../../src/plugin/strategy.ts"
import { resolution, resolvedFrom } from "../support/gateways/resolved.ts"

const loads: Array<unknown> = []

const weighted = defineStrategy({
  id: "weighted",
  config: Schema.Struct({ weight: Schema.optionalWith(Schema.Number, { default: () => 1 }) }),
  load: (config) => {
    loads.push(config)
    return (candidates) => candidates
  },
})
const balanced = defineStrategy({ id: "balanced", config: Schema.Struct({}), load: () => (candidates) => candidates })
const throwing = defineStrategy({
  id: "throwing",
  config: Schema.Struct({}),
  load: () => {
    throw new Error("no disk")
  },
})
const wanting = defineStrategy({
  id: "wanting",
  config: Schema.Struct({ region: Schema.String }),
  load: () => (candidates) => candidates,
})

const plugins = [weighted, balanced, throwing, wanting]

describe("a strategy", () => {
  test("is given its part of the configuration", async () => {
    loads.length = 0
    const config = { routing: { strategy: "weighted", strategies: { weighted: { weight: 3 } } } }
    const { routing } = await resolvedFrom({ plugins: [weighted, balanced] }, config)
    expect(loads).toEqual([{ weight: 3 }])
    expect([[...routing.strategies.keys()], routing.strategy]).toEqual([["weighted", "balanced"], "weighted"])
  })

  test("that is misconfigured is a problem with its path, all of them at once", async () => {
    const strategies = { weighted: { weight: "3", wieght: 1 }, balanced: { x: 1 }, pirce: {}, wanting: {} }
    expect((await resolution({ plugins: [...plugins] }, { routing: { strategies } })).problems).toEqual([
      'config error: routing.strategies.weighted.wieght: unknown field, did you mean "weight"?',
      'config error: routing.strategies.weighted.weight: expected a number, got string "3"',
      "config error: routing.strategies.balanced.x: expected no field: there is nothing to configure, got number",
      "config error: routing.strategies.wanting.region: expected a string, got nothing",
      "config error: routing.strategies.pirce: expected the id of an installed strategy as its name",
    ])
  })

  test("that is not installed is named with a near one", async () => {
    const routing = { strategy: "blanced", strategies: { wieghted: {}, weighted: 3 } }
    expect((await resolution({ plugins: [...plugins] }, { routing })).problems).toEqual([
      "config error: routing.strategies.weighted: expected an object, got number",
      'config error: routing.strategies.wieghted: expected the id of an installed strategy as its name, did you mean "weighted"?',
      'config error: routing.strategy: expected one of weighted, balanced, got "blanced", did you mean "balanced"?',
    ])
  })

  test("in force that does not load was replaced by the configured order in silence: it refuses the start", async () => {
    for (const id of ["throwing", "wanting"]) {
      const { problems } = await resolution({ plugins: [...plugins] }, { routing: { strategy: id } })
      expect(problems).toEqual([
        `config error: routing.strategy: expected the id of a strategy that loads, got "${id}"`,
      ])
    }
    const invalid = [new PluginInvalid({ plugin: "/plugins/strategies/torn", phase: "import", reason: "no comma" })]
    const torn = await resolution({ plugins: [...plugins], invalid }, { routing: { strategy: "torn" } })
    expect(torn.problems).toEqual([
      'config error: routing.strategy: expected the id of a strategy that loads, got "torn"',
    ])
    // Who only configured it is not at fault.
    const configured = { routing: { strategies: { torn: { a: 1 } } } }
    expect((await resolution({ plugins: [...plugins], invalid }, configured)).problems).toEqual([])
  })

  test("that does not load and is not in force is off with one line", async () => {
    const { log, resolved } = await resolution({ plugins: [...plugins] })
    expect(log).toEqual([
      "plugin throwing: load: no disk",
      "plugin wanting: load: region: expected a string, got nothing",
    ])
    expect([...(resolved?.routing.strategies.keys() ?? [])]).toEqual(["weighted", "balanced"])
  })

  test("of an embedder is in force beside those that are installed; with none at all the configured order stands", async () => {
    const rank = <A>(candidates: A) => candidates
    const { routing } = await resolvedFrom({ plugins: [balanced], strategy: rank })
    expect([[...routing.strategies.keys()], routing.strategy]).toEqual([["balanced", "own"], "own"])
    expect((await resolvedFrom({ plugins: [] })).routing).toMatchObject({
      strategies: new Map(),
      whys: new Map(),
      strategy: "balanced",
    })
  })
})
