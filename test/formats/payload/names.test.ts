/** What members mean to a host by their names. docs/guarantees.md#g36 */
import { describe, expect, test } from "bun:test"
import { ruleOf, stored } from "../../../src/formats/payload/names.ts"

const reasonOf = (name: string, value: unknown, inside = "content", owner = {}) => ruleOf(name, inside, owner)?.(value)

describe("what is stored in the operator's account", () => {
  test.each(["file_id", "fileId", "FILE-ID", "previous_response_id", "cachedContent"])("%s refers to it", (name) => {
    expect(reasonOf(name, "one")).toBe(stored)
  })

  test.each([[null], [undefined], [false], [""], [[]], [{}]])("%p refers to nothing", (value) => {
    expect(reasonOf("file_ids", value)).toBeUndefined()
  })

  test("a conversation is named by a text or by an object with an id", () => {
    expect([reasonOf("conversation", "conv_1"), reasonOf("conversation", { id: "conv_1" })]).toEqual([stored, stored])
    expect([reasonOf("conversation", ""), reasonOf("conversation", { id: "" })]).toEqual([undefined, undefined])
  })

  test.each(["prompt", "voice"])("a %s by an object with an id; a text is something else", (name) => {
    expect([reasonOf(name, { id: "one" }), reasonOf(name, "alloy")]).toEqual([stored, undefined])
  })

  test("a container that is to be made is none, unless it has an id", () => {
    expect(reasonOf("container", { type: "auto" })).toBeUndefined()
    expect(reasonOf("container", { type: "auto", id: "one" })).toBe(stored)
    expect(reasonOf("container", "cntr_1")).toBe(stored)
  })

  test("skills are, but for those of a shell on the caller's machine", () => {
    expect(reasonOf("skills", ["one"], "environment", { type: "container" })).toBe(stored)
    expect(ruleOf("skills", "environment", { type: "local" })).toBeNull()
    expect(reasonOf("skills", ["one"], "tools", { type: "local" })).toBe(stored)
  })
})

test.each(["server_url", "mcp_servers", "data_sources"])("%s names a server to call", (name) => {
  expect(reasonOf(name, "https://example.com")).toContain("names a server to call")
})

test.each(["url", "image_url", "imageUri", "fileURIs", "image", "video", "file_data"])("%s is an address", (name) => {
  expect(reasonOf(name, "http://10.0.0.1/")).toContain("must be a public address")
  expect(reasonOf(name, "https://example.com/")).toBeUndefined()
})

test("data is judged in sound, film and files alone, where it is base64", () => {
  expect(reasonOf("data", "file:///etc/passwd", "input_audio")).toBeDefined()
  expect(reasonOf("data", "/etc/passwd", "input_audio")).toBeUndefined()
  expect(ruleOf("data", "content")).toBeNull()
})

test("other names have no rule, however often and however long they are", () => {
  for (const name of ["text", "text", "x".repeat(1000), "curl_count"]) expect(ruleOf(name, "content")).toBeNull()
})
