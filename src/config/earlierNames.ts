/** Members of the configuration whose names have changed. The earlier name is still read, with a warning. */
import { isJsonObject } from "../domain/json/json.ts"
import { type Path, renderPath } from "../domain/json/Problem.ts"

const changed: ReadonlyArray<{ readonly before: Path; readonly now: Path }> = [
  { before: ["server", "open_metrics"], now: ["server", "metrics", "open"] },
]

/** Earlier names that stand beside the ones of now. */
export const besideEarlierNames = (raw: unknown): ReadonlyArray<{ readonly path: Path; readonly message: string }> =>
  changed
    .filter(({ before, now }) => isWritten(raw, before) && isWritten(raw, now))
    .map(({ before, now }) => ({
      path: before,
      message: `expected nothing beside ${renderPath(now)}: it is the earlier name of that`,
    }))

export const earlierNameWarnings = (raw: unknown): ReadonlyArray<string> =>
  changed
    .filter(({ before }) => isWritten(raw, before))
    .map(({ before, now }) => `${renderPath(before)}: this is the earlier name of ${renderPath(now)}.`)

const isWritten = (value: unknown, [member, ...inner]: Path): boolean => {
  if (member === undefined) return value !== undefined
  return isJsonObject(value) && isWritten(value[String(member)], inner)
}
