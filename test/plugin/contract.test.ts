/** What a gateway says of a plugin that is made for another version of the contract. */
import { expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { contractChanges, contractMismatch } from "../../src/plugin/loading/contract.ts"
import { contractVersion } from "../../src/plugin/Provider.ts"

test("every version after the first says what it changed, here and in docs/plugins.md", () => {
  const versions = Array.from({ length: contractVersion - 1 }, (_, at) => String(at + 2))
  expect(Object.keys(contractChanges)).toEqual(versions)
  const page = readFileSync(join(import.meta.dir, "../../docs/plugins.md"), "utf8")
  for (const [version, change] of Object.entries(contractChanges)) expect(page).toContain(`| ${version} | ${change} |`)
})

test("an older plugin reads all that changed since, a newer one that the gateway is too old", () => {
  expect(contractMismatch({ contract: contractVersion })).toBeUndefined()
  expect(contractMismatch({ contract: 1 })).toBe(
    `made for contract 1, this gateway has ${contractVersion}: ${Object.entries(contractChanges)
      .map(([version, change]) => `since ${version} ${change}`)
      .join("; ")}`,
  )
  expect(contractMismatch({ contract: contractVersion + 1 })).toEndWith(": it needs a newer gateway")
})
