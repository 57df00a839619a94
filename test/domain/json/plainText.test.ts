/** What texts from elsewhere may have where people read them. docs/guarantees.md#g28 */
import { expect, test } from "bun:test"
import { decodeModels } from "../../../src/catalogue/models.ts"
import { quoted } from "../../../src/domain/json/checks.ts"
import { escapedControls, withoutControls } from "../../../src/domain/json/plainText.ts"
import { csv } from "../../../src/http/csv.ts"
import { attributionText } from "../../../src/http/headers.ts"
import { plain } from "../../../src/process/terminal.ts"

/** Each may not reach a terminal: commands, an order from right to left, nothing to be seen, another line. */
const hidden = [
  ..."\u0000\u0007\u001b\u007f\u0080\u0085\u009b\u009f",
  ..."\u061c\u200b\u200e\u200f\u202a\u202e\u2066\u2069\u2028\u2029\ufeff\u{e0041}",
]

test.each(hidden.map((sign) => [`U+${sign.codePointAt(0)?.toString(16)}`, sign]))(
  "%s stayed in attribution, tables and messages",
  (_, sign) => {
    const text = `a${sign}b`
    expect(attributionText(text)).toBe("ab")
    expect(plain(text)).toBe("a b")
    expect(withoutControls(csv(["app"], [[text]]).replaceAll("\r\n", ""), "!")).toBe("appa b")
    expect(withoutControls(quoted(text), "!")).toBe(quoted(text))
    expect(JSON.parse(quoted(text))).toBe(text)
  },
)

test("a title in UTF-8 was stored as the bytes that it is sent as; one in Latin-1 stays as it is", () => {
  const sent = (text: string) => Buffer.from(text).toString("latin1")
  expect(attributionText(sent("Müller \u202e漢字 😀"))).toBe("Müller 漢字 😀")
  expect(attributionText("ü".repeat(300))).toBe("ü".repeat(200))
  expect(attributionText("plain")).toBe("plain")
  expect(attributionText(null)).toBe("")
})

test("lines and tabs of a description stay", () => {
  expect(escapedControls("a\n\tb\u009bc\u{e0041}")).toBe("a\n\tb\\u009bc\\udb40\\udc41")
})

test.each(["\u009b31m", "\u202egnp.exe", "\u200b", "a\nb"])(
  "a name of the catalogue with %j is refused",
  async (name) => {
    const model = { id: "acme/small", context_length: 1, hosts: [{ provider: "acme" }] }
    const providers = new Map([
      ["acme", { name: "Acme", privacy: { mayTrain: false, retainsPrompts: true }, local: false }],
    ])
    const places = (more: Record<string, unknown>) =>
      decodeModels([{ ...model, ...more }], providers).problems.map(({ path }) => path)
    expect(places({ name: "Acme é 漢字" })).toEqual([])
    expect(places({ name })).toEqual(["models[0].name"])
    expect(places({ aliases: [name] })).toEqual(["models[0].aliases[0]"])
    expect(places({ canonical_slug: name })).toEqual(["models[0].canonical_slug"])
  },
)
