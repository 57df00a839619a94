/** A copy of a JSON value: its objects and lists are new, its texts are shared, so that megabytes of an image cost nothing. */
export const copied = <A>(value: A): A => {
  if (typeof value !== "object" || value === null) return value
  // Of a JSON value; the types do not know that the copy has the form of A.
  if (Array.isArray(value)) return value.map(copied) as A
  const copy: A & object = { ...value }
  for (const name in copy) {
    const member = copy[name]
    // Assigned, a member "__proto__" would change the copy's prototype. What it has is not copied.
    if (typeof member === "object" && member !== null && name !== "__proto__") copy[name] = copied(member)
  }
  return copy
}
