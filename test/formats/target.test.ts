/** What a request asks for by its address. */
import { expect, test } from "bun:test"
import type { RoutePath } from "../../src/domain/request/forms.ts"
import { Target } from "../../src/formats/Target.ts"

const path: RoutePath = "/api/v1beta/models/{model}:generateContent"
const parameterOf = (url: string) => new Target(path, url).parameter

test.each([
  ["/api/v1beta/models/gemini:generateContent", "gemini"],
  ["http://gateway.test/api/v1beta/models/google/gemini:generateContent?key=a", "google/gemini"],
  ["https://gateway.test/llm/api/v1beta/models/google%2Fgemini:generateContent#x", "google/gemini"],
  ["/api/v1beta/models/a/b:floor:generateContent", "a/b:floor"],
  ["/api/v1/models/google/gemini:generateContent", "google/gemini"],
  ["/api/v1beta/models/:generateContent", undefined],
  ["/api/v1beta/models/a//b:generateContent", undefined],
  ["/api/v1beta/models/../a:generateContent", undefined],
  ["/api/v1beta/models/%ff:generateContent", undefined],
  ["/api/v1beta/models/a:generateContent/", undefined],
  ["/api/v1beta/models/a:countTokens", undefined],
])("the parameter of %s", (url, parameter) => {
  expect(parameterOf(url)).toBe(parameter)
})

test("a path without a parameter has none; the query is read by name", () => {
  const target = new Target("/api/v1/messages", "/api/v1/messages?beta=true&alt=a&alt=b")
  expect([target.parameter, target.inQuery("alt"), target.inQuery("none")]).toEqual([undefined, "a", undefined])
})
