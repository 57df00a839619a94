/** Names of members that a host does not get, as paths in the caller's body. Pure. */

/** Both lists, but for what stands below a path of the first: `tools[8]` says that `tools[8].external_web_access` is gone, too. */
export const joinedNames = (outer: ReadonlyArray<string>, more: ReadonlyArray<string>): ReadonlyArray<string> => {
  if (outer.length === 0) return more
  if (more.length === 0) return outer
  const known = new Set(outer)
  return [...outer, ...more.filter((name) => !isBelow(name, known))]
}

/** Characters of a path that are looked at. Paths of tools are shorter, and a caller writes names of any length. */
const longest = 64

const isBelow = (name: string, known: ReadonlySet<string>): boolean => {
  const end = Math.min(name.length, longest)
  for (let at = 1; at < end; at++) {
    const letter = name[at]
    if ((letter === "." || letter === "[") && known.has(name.slice(0, at))) return true
  }
  return false
}
