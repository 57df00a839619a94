/** Imports of the console go downwards only, it takes nothing of the gateway but arithmetic, and no file grows beyond what one reads. */
import { expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { dirname, join, normalize, resolve } from "node:path"
import { Glob } from "bun"

const root = resolve(import.meta.dir, "../..")

/** From the top. */
const layers = ["main.tsx", "shell", "views", "components", "state", "api", "lib"]

/** Pure files of the gateway that the console shares. */
const shared = ["src/domain/price/money.ts", "src/domain/keys/limitWindows.ts"]

const files = [...new Glob("console/**/*.{ts,tsx}").scanSync({ cwd: root })]
  .filter((file) => !file.startsWith("console/dev/"))
  .toSorted()

const textOf = (file: string) => readFileSync(join(root, file), "utf8")

const imports = files.flatMap((from) =>
  Array.from(textOf(from).matchAll(/\bfrom "(\.[^"]+)"|\bimport\("(\.[^"]+)"\)/g), ([, named, bare]) => ({
    from,
    to: normalize(join(dirname(from), named ?? bare ?? "")),
  })),
)

const layerOf = (file: string) => layers.indexOf(file.split("/")[1] ?? "")

test("no import goes upwards, and none goes to the gateway's own code but for shared arithmetic", () => {
  const wrong = imports.filter(({ from, to }) =>
    to.startsWith("console/") ? layerOf(to) < layerOf(from) || layerOf(to) < 0 : !shared.includes(to),
  )
  expect(wrong.map(({ from, to }) => `${from} imports ${to}`)).toEqual([])
  expect(imports.length).toBeGreaterThan(50)
})

test("nothing below the state touches the page", () => {
  const wrong = files.filter(
    (file) => file.startsWith("console/lib/") && /\b(document|window|location|fetch)\b[.(]/.test(textOf(file)),
  )
  expect(wrong).toEqual([])
})

test("no text becomes markup, and nothing is kept in the browser", () => {
  const refused =
    /innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|document\.write|localStorage|sessionStorage|\beval\(|new Function/
  expect(files.filter((file) => refused.test(textOf(file)))).toEqual([])
})

test("files have at most 400 lines", () => {
  expect(files.filter((file) => textOf(file).split("\n").length > 400)).toEqual([])
})
