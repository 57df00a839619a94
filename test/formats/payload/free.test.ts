/** Places of a payload where the caller's JSON may be anything. docs/guarantees.md#g36 */
import { expect, test } from "bun:test"
import { isFree } from "../../../src/formats/payload/free.ts"

test.each([
  ["the schema of a function", "parameters", {}, "function"],
  ["arguments of a call", "arguments", {}, "function"],
  ["the schema of an answer", "schema", {}, "json_schema"],
  ["metadata of the body", "metadata", {}, ""],
  ["what a host said", "citations", {}, "message"],
  ["the input of a call of a tool", "input", { type: "tool_use" }, "content"],
  ["the input of a call of Converse", "input", {}, "toolUse"],
  ["what a search of the host opened", "action", { type: "web_search_call" }, "input"],
  ["a member of a document to rank", "url", {}, "documents"],
])("%s is free", (_name, name, owner, inside) => {
  expect(isFree(name, owner, inside)).toBe(true)
})

test.each([
  ["a schema where none belongs", "parameters", {}, "content"],
  ["metadata of something within the body", "metadata", {}, "tools"],
  ["the input of the body, whatever its type says", "input", { type: "tool_use" }, ""],
  ["the input of what is no call", "input", { type: "text" }, "content"],
  ["an action that is no call", "action", { type: "computer" }, "input"],
  ["the image of a document", "image", {}, "documents"],
  ["a member of a document with a type", "url", { type: "image_url" }, "documents"],
  ["any other member", "image_url", {}, "content"],
])("%s is not", (_name, name, owner, inside) => {
  expect(isFree(name, owner, inside)).toBe(false)
})
