/** What `docs/alerts.md` says of rules and of verification. */
import { afterAll, expect, test } from "bun:test"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Redacted from "effect/Redacted"
import { alertRules } from "../../src/domain/alerts/Alert.ts"
import { signatureOf } from "../../src/services/alerts/Webhook.ts"

const page = readFileSync(join(import.meta.dir, "../../docs/alerts.md"), "utf8")
const folder = mkdtempSync(join(tmpdir(), "headgate-verify-"))
afterAll(() => rmSync(folder, { recursive: true }))

test("its table has every rule", () => {
  const rules = Array.from(page.matchAll(/^\| `(\w+)` \| /gm), ([, rule]) => rule)
  expect(rules).toEqual([...alertRules])
})

test("its program accepts what is signed with the secret, and nothing else", async () => {
  const program = /```js\n([\s\S]*?)```/.exec(page)?.[1] ?? ""
  const file = join(folder, "verify.mjs")
  writeFileSync(file, program)
  const { isFromHeadgate } = await import(file)
  const body = '{"state":"firing","text":"Größe"}'
  const headers = {
    "x-headgate-timestamp": "1000",
    "x-headgate-signature": signatureOf(Redacted.make("whsec"), "1000", body),
  }
  expect(isFromHeadgate(headers, body, "whsec", 1100)).toBe(true)
  expect(isFromHeadgate(headers, body, "other", 1100)).toBe(false)
  expect(isFromHeadgate(headers, `${body} `, "whsec", 1100)).toBe(false)
  expect(isFromHeadgate({ ...headers, "x-headgate-timestamp": "1001" }, body, "whsec", 1100)).toBe(false)
  expect(isFromHeadgate(headers, body, "whsec", 2000)).toBe(false)
  expect(isFromHeadgate({}, body, "whsec", 1000)).toBe(false)
})
