/** Names of environment variables, as they may be written into errors and logs. */

/**
 * The name, where it looks like one: capital letters, digits and `_`, and no long part that mixes letters and digits, as the ids of
 * keys do (`AKIA…`). Else a text that does not tell it: who wrote the key in the place of the name must not find it in a log.
 */
export const shownVariable = (name: string): string =>
  /^[A-Z][A-Z0-9_]{0,63}$/.test(name) && !name.split("_").some(isLikeKey) ? name : "with a name that is not shown"

const isLikeKey = (part: string): boolean => part.length >= 16 && /\d/.test(part)
