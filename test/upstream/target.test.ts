/** What requests to one host share. docs/guarantees.md#g29 */
import { expect, test } from "bun:test"
import { Targets } from "../../src/upstream/http1/Targets.ts"

test("connections are shared by the URLs of one scheme, host and port", () => {
  const targets = new Targets()
  const { origin } = targets.of("https://models.acme.example/v1/a", "public")
  expect(targets.of("https://models.acme.example/v1/b", "public").origin).toBe(origin)
  for (const other of ["http://models.acme.example/", "https://models.acme.example:8443/", "https://acme.example/"]) {
    expect(targets.of(other, "public").origin).not.toBe(origin)
  }
})

// A private host may have been reached at an address that a public one may not be called at.
test("connections to a host in a private network are no other's", () => {
  const targets = new Targets()
  const url = "https://models.acme.example/v1/a"
  expect(targets.of(url, "private").origin).not.toBe(targets.of(url, "public").origin)
  expect(targets.of(url, "private").origin.network).toBe("private")
})

test("origins of 4,096 reloaded addresses were kept for ever: those without an idle connection are forgotten", () => {
  const targets = new Targets()
  const originOf = (name: string) => targets.of(`https://${name}.example/v1`, "public").origin
  const [unused, kept] = [originOf("unused"), originOf("kept")]
  // Only whether there is one counts.
  ;(kept.idle as Array<unknown>).push({})
  for (let at = 0; at < 4096; at++) originOf(`host-${at}`)
  expect([originOf("unused") === unused, originOf("kept") === kept]).toEqual([false, true])
})

test("counters of 4,096 reloaded addresses stepped back: what was counted of a forgotten origin is kept", () => {
  const targets = new Targets()
  const origin = () => targets.of("https://models.acme.example/v1", "public").origin
  const before = origin()
  before.counts.dials += 3
  for (let at = 0; at < 4096; at++) targets.of(`https://host-${at}.example/v1`, "public")
  expect(origin() === before).toBe(false)
  origin().counts.dials += 1
  expect(targets.figures[0]).toMatchObject({ origin: "https://models.acme.example:443", dials: 4 })
})
