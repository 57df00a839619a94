/** Whether a plugin is made for the contract of this gateway, and what changed where it is not. */
import { existsSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { isJsonObject } from "../../domain/json/json.ts"
import { contractVersion } from "../Provider.ts"

/** What a version of the contract changed for plugins of the version before. `docs/plugins.md` has the same table. */
export const contractChanges: Readonly<Record<number, string>> = {
  2: "a provider gives `protocols` in place of `operations`, `transport` in place of `answer`, `sign` for signatures of requests, and `models` as an async function",
  3: "an assistant's message is read as parts in their order (`partsInOrder`) and written with `saidInOrder` or `partOrder`, since hosts refuse reasoning in another place",
}

/** Why a plugin cannot be used by this gateway at all; `undefined`: it can. */
export const contractMismatch = ({ contract }: { readonly contract: number }): string | undefined => {
  if (contract === contractVersion) return undefined
  const mismatch = `made for contract ${contract}, this gateway has ${contractVersion}`
  if (contract > contractVersion) return `${mismatch}: it needs a newer gateway`
  const changes = Object.entries(contractChanges).filter(([version]) => Number(version) > contract)
  return `${mismatch}: ${changes.map(([version, change]) => `since ${version} ${change}`).join("; ")}`
}

/**
 * The same for the package that has the module `entry`, by `"headgate": { "contract": 3 }` of its package.json. It is read before the package is
 * imported: `defineProvider` gives a plugin the contract of the gateway that imports it, whichever it was written for, and the import itself fails
 * where a name is gone. A package that says nothing is imported.
 */
export const packageMismatch = (entry: string): string | undefined => {
  const declared = packageOf(dirname(entry))["headgate"]
  const contract = isJsonObject(declared) ? declared["contract"] : undefined
  if (contract === undefined) return undefined
  if (typeof contract !== "number" || !Number.isSafeInteger(contract) || contract < 1) {
    return "headgate.contract of its package.json is not a version of the contract, such as 3"
  }
  return contractMismatch({ contract })
}

const packageOf = (folder: string): Readonly<Record<string, unknown>> => {
  const file = join(folder, "package.json")
  if (!existsSync(file)) return dirname(folder) === folder ? {} : packageOf(dirname(folder))
  try {
    const read: unknown = JSON.parse(readFileSync(file, "utf8"))
    return isJsonObject(read) ? read : {}
  } catch {
    // Its import says what is wrong with it.
    return {}
  }
}
