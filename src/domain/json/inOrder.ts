/** The order of members, where those of one record stand between those of another. Pure. */
import * as Struct from "effect/Struct"

/**
 * The members of a record, some of them moved: `after` names, under a member, those that come right after it. The others keep their
 * order.
 */
export const inOrder = <R extends object>(
  record: R,
  after: { readonly [N in keyof R]?: ReadonlyArray<keyof R> },
): R => {
  const moved = new Set<unknown>(Object.values(after).flat())
  const ordered: Partial<R> = {}
  const place = (name: keyof R): void => {
    if (name in record) ordered[name] = record[name]
    for (const next of after[name] ?? []) place(next)
  }
  for (const name of Struct.keys(record)) if (!moved.has(name)) place(name)
  // Every member was placed: those that are moved stand after one that is.
  return ordered as R
}
