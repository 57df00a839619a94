import { expect, test } from "bun:test"
import { modelsOf } from "./models.ts"

/** Names of the inference profiles that are listed. */
const profiles = async (region: string) => {
  const variants = (await modelsOf(region)).flatMap(({ hosts = [] }) => hosts.map(({ variant }) => variant ?? "none"))
  return [...new Set(variants)].toSorted()
}

test("inference profiles are listed in their own regions alone", async () => {
  expect(await profiles("us-east-1")).toEqual(["global", "none", "us"])
  expect(await profiles("eu-central-1")).toEqual(["eu", "global", "none"])
  expect(await profiles("ap-southeast-2")).toEqual(["au", "global", "none"])
  expect(await profiles("ap-northeast-1")).toEqual(["global", "jp", "none"])
  expect(await profiles("sa-east-1")).toEqual(["global", "none"])
})
