import { expect, test } from "bun:test"
import { modelsIn } from "headgate/plugin"
import { isCalledFrom } from "./regions.ts"

const listed = await modelsIn(new URL("./models.json", import.meta.url))()
const hosts = listed.flatMap(({ hosts = [] }) => hosts)

test.each([
  ["us-east-1", ["global", "none", "us"]],
  ["eu-central-1", ["eu", "global", "none"]],
  ["ap-southeast-2", ["au", "global", "none"]],
  ["ap-northeast-1", ["global", "jp", "none"]],
  ["sa-east-1", ["global", "none"]],
])("inference profiles that are called from %s", (region, profiles) => {
  const near = hosts.filter(({ model }) => isCalledFrom(region, model ?? ""))
  expect([...new Set(near.map(({ variant }) => variant ?? "none"))].toSorted()).toEqual(profiles)
})
