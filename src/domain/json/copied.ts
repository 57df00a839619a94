/** A copy of a JSON value: its objects and lists are new, its texts are shared, so that megabytes of an image cost nothing. */
export const copied = <A>(value: A): A => {
  if (typeof value !== "object" || value === null) return value
  // Of a JSON value; the types do not know that the copy has the form of A.
  if (Array.isArray(value)) return value.map(copied) as A
  const copy: Record<string, unknown> = {}
  for (const [name, member] of Object.entries(value)) {
    // Assigned, "__proto__" would not become a member.
    if (name === "__proto__") Object.defineProperty(copy, name, { ...plain, value: copied(member) })
    else copy[name] = copied(member)
  }
  return copy as A
}

const plain = { configurable: true, enumerable: true, writable: true }
