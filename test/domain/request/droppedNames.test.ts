import { expect, test } from "bun:test"
import { joinedNames } from "../../../src/domain/request/droppedNames.ts"

test("what stands below a dropped member is not named again", () => {
  const more = [
    "tools[8].external_web_access",
    "tools[80].strict",
    "input[3].tools[1].format",
    "text.format",
    "textual",
  ]
  expect(joinedNames(["tools[8]", "input[3].tools", "text"], more)).toEqual([
    ...["tools[8]", "input[3].tools", "text"],
    ...["tools[80].strict", "textual"],
  ])
  expect(joinedNames([], more)).toBe(more)
  expect(joinedNames(more, [])).toBe(more)
})
