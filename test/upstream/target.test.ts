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
