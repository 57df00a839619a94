/**
 * Writes `plugins/providers/<slug>/models.json` from a catalogue: `bun scripts/models.ts FILE`. The file has one of the forms of
 * docs/catalogue.md. Nothing is written when it does not validate, and nothing for a provider that has no plugin.
 */
import { existsSync } from "node:fs"
import { join } from "node:path"
import * as Either from "effect/Either"
import { problemsIn, readCatalogue, writtenList } from "../src/catalogue/catalogueFile.ts"

const [file] = process.argv.slice(2)
if (file === undefined) throw new Error("usage: bun scripts/models.ts FILE")

const read = readCatalogue(await Bun.file(file).json())
const problems = Either.isLeft(read) ? read.left : problemsIn(read.right)
if (Either.isLeft(read) || problems.length > 0) {
  for (const { path, message } of problems) process.stderr.write(`${path}: ${message}\n`)
  process.exit(1)
}
const providers = join(import.meta.dir, "../plugins/providers")
for (const [slug, list] of read.right) {
  if (!existsSync(join(providers, slug, "index.ts"))) {
    process.stdout.write(`${slug}: no plugin\n`)
    continue
  }
  await Bun.write(join(providers, slug, "models.json"), writtenList(list))
  process.stdout.write(`${slug}: ${list.length} models\n`)
}
