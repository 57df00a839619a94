/** A plan in a few bytes. */
import { expect, test } from "bun:test"
import { HostTag, ModelId } from "../../src/domain/ids.ts"
import { readRouted, routedOf, routedOfExcluded, ruleOf, withEnds } from "../../src/domain/routing/routed.ts"

const at = (model: string, tag: string) => ({ model: ModelId.make(model), tag: HostTag.make(tag) })
const out = (model: string, host: string, by: string) => ({ model, host, by })

test("is read as it was written: order, exclusions with their rules, and what became of hosts", () => {
  const plan = {
    attempts: [at("acme/small", "a"), at("acme/small", "b/fp8"), at("acme/large", "a")],
    excluded: [out("acme/small", "c", "max_price"), out("acme/large", "b", "ignore")],
  }
  const text = withEnds(routedOf(plan), [
    { model: "acme/small", host: "a", outcome: "timeout", status: null, ms: 800.04 },
    { model: "acme/small", host: "b/fp8", outcome: "finished", status: 200, ms: 31.25 },
  ])
  expect(text).toBe(
    "=acme/small\n+a\n+b/fp8\n=acme/large\n+a\n=acme/small\n-max_price\tc\n=acme/large\n-ignore\tb\n=acme/small\n!timeout\ta\t\t800\n=acme/small\n!finished\tb/fp8\t200\t31.3\n",
  )
  expect(readRouted(text)).toEqual({
    order: [
      { model: "acme/small", host: "a" },
      { model: "acme/small", host: "b/fp8" },
      { model: "acme/large", host: "a" },
    ],
    excluded: plan.excluded,
    ended: [
      { model: "acme/small", host: "a", outcome: "timeout", status: null, ms: 800 },
      { model: "acme/small", host: "b/fp8", outcome: "finished", status: 200, ms: 31.3 },
    ],
    isCut: false,
  })
})

test("of a host that could not be reached: why", () => {
  const ended = { model: "acme/small", host: "a", outcome: "unreachable", status: null, ms: 5.1, fault: "dns" }
  const text = withEnds("1", [ended])
  expect(text).toBe("1\n=acme/small\n!unreachable\ta\t\t5.1\tdns\n")
  expect(readRouted(text)?.ended).toEqual([ended])
})

test("one host alone takes one character, and nothing is known of a row without any", () => {
  const text = routedOf({ attempts: [at("acme/small", "a")], excluded: [] })
  expect(text).toBe("1")
  expect(readRouted(text)).toEqual({ order: null, excluded: [], ended: [], isCut: false })
  const ended = { model: "acme/small", host: "a", outcome: "overloaded", status: null, ms: null }
  expect(readRouted(withEnds(text, [ended, ended]))).toMatchObject({ order: null, ended: [ended, ended] })
  const long = { ...ended, model: "x".repeat(3000) }
  expect(readRouted(withEnds(text, [long]))).toEqual({ order: null, excluded: [], ended: [], isCut: true })
  // As rows before 26 November 2026 have it.
  expect(readRouted("1\n=acme/small\n!overloaded\ta\n")).toMatchObject({ ended: [ended] })
  expect(readRouted("")).toBeUndefined()
  expect(routedOfExcluded([])).toBe("")
})

test("is bounded, whatever the plan has, and says that it is cut", () => {
  const many = Array.from({ length: 500 }, (_, n) => at(`acme/model-${n % 3}`, `provider-${n}`))
  const excluded = many.map(({ model, tag }) => out(model, tag, "require_parameters"))
  const ends = many.map(({ model, tag }) => ({ model, host: tag, outcome: "rate-limited", status: 429, ms: 5 }))
  for (const plan of [
    { attempts: many, excluded },
    { attempts: many.slice(0, 2), excluded },
    { attempts: [at(`acme/${"x".repeat(3000)}`, "a"), at("acme/small", "b")], excluded: [] },
  ]) {
    const text = withEnds(routedOf(plan), ends)
    expect(text.length).toBeLessThanOrEqual(2000)
    const read = readRouted(text)
    expect(read?.isCut).toBe(true)
    // What is there is whole.
    for (const { host } of [...(read?.order ?? []), ...(read?.excluded ?? [])]) expect(host).toMatch(/^provider-\d+$/)
  }
  expect(routedOf({ attempts: many, excluded: [] }).length).toBeLessThanOrEqual(1502)
})

test("every rule has a sentence, also one that is the name of a parameter", () => {
  expect(ruleOf("zdr")).toBe("may retain prompts")
  expect(ruleOf("constructor")).toBe("excluded by constructor")
})
