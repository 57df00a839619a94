/** A test file of the kit without samples, for a plugin's folder that has no test of its own: `headgate plugin test`. */
import { test } from "bun:test"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import { problemsOf, sentence } from "../domain/json/Problem.ts"
import { isPlugin } from "../plugin/loading/discover.ts"
import { ofSamples } from "./coverage.ts"
import { providerChecks } from "./provider.ts"
import { strategyChecks } from "./strategy.ts"

const { default: plugin }: { default?: unknown } = await import(Bun.resolveSync("./index", process.cwd()))
if (!isPlugin(plugin)) throw new Error("the default export is not made by defineProvider or defineStrategy")
const refused = plugin.kind === "provider" ? Either.getLeft(plugin.load({})) : Either.getLeft(plugin.load({}))
if (Option.isSome(refused)) {
  const missing = sentence(problemsOf(refused.value.issue))
  throw new Error(
    `${plugin.id} has fields of its own that must be configured (${missing}): without a test that gives \`config\` to the kit, it is not tested. See docs/plugins.md#kit`,
  )
}
const checks = plugin.kind === "provider" ? await providerChecks({ plugin }) : strategyChecks({ plugin })
for (const check of checks) {
  if (check.name.endsWith(ofSamples))
    test.skip(`${check.name}: not checked, since the folder has no test with samples`, check.run)
  else test(check.name, check.run)
}
