/** The guide has every page of `docs/` in one of its sections, and nothing else. */
import { expect, test } from "bun:test"
import { resolve } from "node:path"
import { Glob } from "bun"
import { sections } from "../../site/contents.ts"
import { pageText } from "../../site/pages.ts"

/** Made by `site/pages.ts`, out of other files than those of `docs/`. */
const made = ["bench", "changes", "contributing", "decisions", "security"]

test("every page of docs is listed once, and what is listed is there", () => {
  const docs = ["*.md", "reference/*.md"].flatMap((pattern) =>
    [...new Glob(pattern).scanSync(resolve(import.meta.dir, "../../docs"))].map((name) =>
      name.slice(0, -3).toLowerCase(),
    ),
  )
  const listed = sections.flatMap(({ pages }) => [...pages])
  expect(listed.toSorted()).toEqual([...docs, ...made].toSorted())
})

test("no page of the guide has a picture, which it would not find", () => {
  const root = resolve(import.meta.dir, "../..")
  for (const file of ["README.md", ...new Glob("docs/**/*.md").scanSync(root)]) {
    const prose = pageText(file).replaceAll(/^```[\s\S]*?^```$/gm, "")
    expect([file, /!\[[^\]]*\]\(/.test(prose)]).toEqual([file, false])
  }
})
