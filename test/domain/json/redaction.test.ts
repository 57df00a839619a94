/** What is left of a text that repeats a secret. docs/guarantees.md#g27 */
import { expect, test } from "bun:test"
import { hiding } from "../../../src/domain/json/redaction.ts"

const secret = "sk-acme-0123456789-abcdefghij"
const pem = "-----BEGIN KEY-----\nMIIEvQIBADANBg\n-----END KEY-----\n"

test.each([
  ["the whole of it", `you sent ${secret} here`, "you sent [secret] here"],
  ["twice", `${secret}, ${secret}`, "[secret], [secret]"],
  ["its beginning, where the text was cut off", `you sent ${secret.slice(0, 6)}`, "you sent [secret]"],
  ["its beginning", `the key ${secret.slice(0, 14)}... is wrong`, "the key [secret]... is wrong"],
  ["its end", `the key ...${secret.slice(-14)} is wrong`, "the key ...[secret] is wrong"],
  ["fewer characters than tell anything", "a key begins with sk-acme- and more", "a key begins with sk-acme- and more"],
  ["nothing of it", "the model is overloaded", "the model is overloaded"],
  ["one of several lines, on one line", `it was ${pem.replaceAll("\n", " ").trim()}!`, "it was [secret]!"],
  ["one of several lines, in JSON", `it was ${JSON.stringify(pem)}`, 'it was "[secret]"'],
  ["in a URL", "/token?key=a%2Fb%20c%2Fd-0123", "/token?key=[secret]"],
  ["a short one", "pin 4711 is wrong", "pin [secret] is wrong"],
])("%s", (_, text, shown) => {
  expect(hiding([secret, pem, "a/b c/d-0123", "4711"])(text)).toBe(shown)
})

test("a placeholder for a key took letters out of words: ma[secret]imum context length", () => {
  const hide = hiding(["x", "none", "tokens"])
  for (const text of ["the maximum context length", "nonetheless, cannonex", "max_tokens exceed", "tokens_limit"])
    expect(hide(text)).toBe(text)
  expect(hide("x, none and (tokens) none")).toBe("[secret], [secret] and ([secret]) [secret]")
  // Where a text was cut off.
  expect(hide("it was non")).toBe("it was non")
})

test("a secret that begins with another one is removed as a whole", () => {
  expect(hiding(["abcdefgh", "abcdefgh-ijklmnop"])("abcdefgh-ijklmnop abcdefgh")).toBe("[secret] [secret]")
})

test("a secret that is like what stands in its place ends", () => {
  expect(hiding(["[secret]"])("[secret] [sec")).toBe("[secret] [secret]")
})

test("a secret with signs that a URL writes in another way is removed to its end", () => {
  const azure = "AbCdEfGhIjKlMnOpQrSt0123+/x=="
  const hide = hiding([azure])
  expect(hide(`you sent ${azure}!`)).toBe("you sent [secret]!")
  const inUrl = encodeURIComponent(azure)
  expect(hide(`?key=${inUrl}&a`)).toBe("?key=[secret]&a")
  expect(hide(`?key=${inUrl.replace(/%../g, (code) => code.toLowerCase())}&a`)).toBe("?key=[secret]&a")
})
