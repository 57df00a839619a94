/** Names and types seen before: characters of the longest, and how many. Bounded, since callers choose them. */
const longest = 64
const most = 4096

/** The same function of a name, which remembers its results. It returns no `undefined`. */
export const remembered = <Meaning>(read: (name: string) => Meaning): ((name: string) => Meaning) => {
  const seen = new Map<string, Meaning>()
  return (name) => {
    const before = seen.get(name)
    if (before !== undefined) return before
    const meaning = read(name)
    if (seen.size < most && name.length <= longest) seen.set(name, meaning)
    return meaning
  }
}
