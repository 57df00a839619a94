/** Names that their callers chose, for links. */

/** `name`, where there is something to see in it, else `instead`: a link without a text cannot be found, nor read aloud. */
export const seen = (name: string, instead: string): string => (/[\p{L}\p{N}\p{P}\p{S}]/u.test(name) ? name : instead)
