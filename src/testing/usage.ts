/** Checks of a usage report: what the gateway bills by. */
import { isDeepStrictEqual } from "node:util"
import type { ChatUsage } from "../domain/Chat.ts"
import { isJsonObject } from "../domain/Json.ts"
import { parseUsage, type Usage } from "../domain/Usage.ts"
import { must, shown } from "./check.ts"

const contract = "ChatUsage"

/** The usage as the gateway reads it. Throws where it would estimate in its place. `of`: where the usage stands. */
export const readUsage = (usage: unknown, of: string): Usage => {
  must(usage != null, `${of} has no usage: the caller would be billed by an estimate`, contract)
  const read = parseUsage(usage)
  must(
    read !== undefined,
    `The usage ${shown(usage)} of ${of} is not accepted: ${whyNot(usage)}, so that all of it would be estimated`,
    contract,
  )
  return read
}

const whyNot = (usage: unknown): string => {
  const wrong = ["prompt_tokens", "completion_tokens"].find(
    (total) =>
      !isJsonObject(usage) ||
      parseUsage({ prompt_tokens: 0, completion_tokens: 0, [total]: usage[total] }) === undefined,
  )
  if (wrong === undefined) return "its totals are too large"
  const isThere = isJsonObject(usage) && usage[wrong] != null
  return isThere
    ? `${wrong} is no whole number from 0 to 2^31`
    : `${wrong} is missing (a host that leaves zeros out means 0)`
}

/** Throws unless the usage comes to what the author of the sample counted; `null`: it must come to an estimate. */
export const isCountedAs = (usage: unknown, counted: ChatUsage | null, of: string): void => {
  if (counted === null) {
    const says = `${of} is counted as ${shown(usage)}, expected nothing that counts`
    must(parseUsage(usage) === undefined, says, contract)
    return
  }
  const expected = parseUsage(counted)
  must(
    expected !== undefined,
    `The usage expected of ${of}, ${shown(counted)}, has no valid totals`,
    "StreamSample.expects",
  )
  const read = readUsage(usage, of)
  must(isDeepStrictEqual(read, expected), `${of} is counted as ${shown(usage)}, expected ${shown(counted)}`, contract)
}
