/** Names of environment variables, as they may be written into errors and logs. */
import { looksLikeKey } from "./redaction.ts"

/**
 * The name, if it looks like one: capital letters, digits and `_`, and no long part that mixes letters and digits, as ids of keys do
 * (`AKIA…`). Otherwise a text without it: an operator may have written the key itself where its variable's name belongs, and a log must
 * not show it.
 */
export const shownVariable = (name: string): string =>
  /^[A-Z][A-Z0-9_]{0,63}$/.test(name) && !name.split("_").some(looksLikeKey) ? name : "with a name that is not shown"
