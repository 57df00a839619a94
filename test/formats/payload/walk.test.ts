/** What of a body or a payload may not be sent, and where it is. docs/guarantees.md#g36 */
import { describe, expect, test } from "bun:test"
import { findingInBody, findingInFields, findingInPayload } from "../../../src/formats/payload/walk.ts"

const inBody = (body: Record<string, unknown>, ...dropped: ReadonlyArray<string>) => findingInBody(body, dropped)?.path

describe("a finding in a body", () => {
  test.each<readonly [string, Record<string, unknown>, string | undefined]>([
    [
      "names its place in lists and members",
      { messages: [{}, { content: [{ file_id: "f" }] }] },
      "messages[1].content[0].file_id",
    ],
    [
      "is an entry of a list that has addresses",
      { image_urls: ["https://example.com/", "file:///a"] },
      "image_urls[1]",
    ],
    ["is an item that refers to another", { input: [{ type: " Item_Reference ", id: "i" }] }, "input[0]"],
    [
      "is an upload into a container",
      { messages: [{ content: [{ type: "container_upload" }] }] },
      "messages[0].content[0]",
    ],
    ["is a source that is a file", { messages: [{ source: { type: "file" } }] }, "messages[0].source"],
    ["is the type of a tool that reaches out", { tools: [{ type: "mcp" }] }, "tools[0].type"],
    [
      "is a tool in a namespace that the caller does not run",
      { tools: [{ type: "namespace", tools: [{ type: "function" }, { type: "web_search" }] }] },
      "tools[0].tools[1]",
    ],
    ["is not in what is free", { tools: [{ function: { parameters: { file_id: "f" } } }] }, undefined],
    ["is not in a text", { messages: [{ content: "file_id: file:///etc/passwd" }] }, undefined],
    ["is not in numbers", { vector: [1, 2, 3] }, undefined],
    ["is not a tool of the host: that is decided for each host", { tools: [{ type: "web_search" }] }, undefined],
    ["is not in what is null", { file_id: null }, undefined],
  ])("%s", (_name, body, path) => {
    expect(inBody(body)).toBe(path)
  })

  test("is not in members that are not sent", () => {
    expect(inBody({ mine: { file_id: "f" } })).toBe("mine.file_id")
    expect(inBody({ mine: { file_id: "f" } }, "mine")).toBeUndefined()
    expect(inBody({ provider: { file_id: "f" } })).toBeUndefined()
  })
})

describe("a tool in a payload", () => {
  const withTool = (tool: object) => ({ tools: [tool] })

  test("that searches the web is found where the host may not search", () => {
    const searching = withTool({ type: "web_search" })
    expect(findingInPayload(searching, false)).toMatchObject({ path: "tools[0]" })
    expect(findingInPayload(searching, true)).toBeUndefined()
  })

  test("that has no price is found either way", () => {
    for (const searches of [true, false])
      expect(findingInPayload(withTool({ type: "code_interpreter" }), searches)).toMatchObject({ path: "tools[0]" })
  })

  test("of Google is known by its only member", () => {
    expect(findingInPayload(withTool({ codeExecution: {} }), true)).toMatchObject({ path: "tools[0].codeExecution" })
    expect(findingInPayload(withTool({ googleSearch: {} }), true)).toBeUndefined()
    expect(findingInPayload(withTool({ googleSearch: {} }), false)).toMatchObject({ path: "tools[0].googleSearch" })
  })

  test("that the caller runs is not found", () => {
    expect(findingInPayload(withTool({ type: "function", function: { name: "f" } }), false)).toBeUndefined()
    expect(findingInPayload(withTool({ functionDeclarations: [{ name: "f" }] }), false)).toBeUndefined()
  })
})

test("the fields of a multipart body are judged by their names, and JSON in them as a body is; bytes of files are not", () => {
  const file = new Blob(["file_id"])
  const foundIn = (...fields: ReadonlyArray<readonly [string, unknown]>) => findingInFields(fields)?.path
  expect(foundIn(["model", "a"], ["prompt", "see file_id"], ["file", file], ["image", file])).toBeUndefined()
  expect(foundIn(["model", "a"], ["file_id", "file-1"])).toBe("file_id")
  expect(foundIn(["image_url", "http://10.0.0.1/a.png"])).toBe("image_url")
  expect(foundIn(["image_urls[]", "file:///etc/passwd"])).toBe("image_urls[]")
  expect(foundIn(["tools", '[{"vector_store_ids":["a"]}]'])).toBe("tools[0].vector_store_ids")
  expect(foundIn(["prompt", "[not JSON"])).toBeUndefined()
})
