/** A test may take half an hour: a shorter limit makes its verdict depend on how busy the machine is. */
import { expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { Glob } from "bun"

const root = resolve(import.meta.dir, "../..")

test("no test has a limit of its own below half an hour", () => {
  const wrong = [...new Glob("{test,plugins,examples}/**/*.test.ts").scanSync({ cwd: root })].flatMap((file) => {
    const text = readFileSync(join(root, file), "utf8")
    const limits = [...text.matchAll(/^\}, ([\d_]+)\)$|setDefaultTimeout\(([\d_]+)\)/gm)]
    return limits
      .map(([, own, general]) => Number((own ?? general ?? "").replaceAll("_", "")))
      .filter((limit) => limit < 1_800_000)
      .map((limit) => `${file}: ${limit}`)
  })
  expect(wrong).toEqual([])
})
