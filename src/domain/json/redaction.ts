/** Removes secrets from texts in which a host, a plugin or an error of the runtime may repeat them. Pure. */

/**
 * A shorter secret is removed only as a word of its own. No vendor issues such a key, but local servers accept any word,
 * and removing parts of other words would hide what agents act on.
 */
const shortestInWords = 8

/** Replaces a secret. */
const mark = "[secret]"
/** Several in a row, as a secret that was found in parts leaves them. */
const marks = /(?:\[secret\]){2,}/g

/** The shortest beginning of a secret that is removed at the end of a text, where the text may have been cut off. */
const shortestCut = 4

/** The shortest beginning or end of a secret that is removed anywhere. Vendors name a key by its first or last characters. */
const shortestPart = 12

/**
 * Removes secrets from a text: each as it is, as it is written in JSON, in a URL or on one line, and a part of it at its beginning
 * or end. A secret of fewer than 12 characters is removed as a whole, or where the text ends within it; one of fewer than 8, such as `none`,
 * only where it is no part of a longer word.
 */
export const hiding = (secrets: Iterable<string>): ((text: string) => string) => {
  const forms = [...new Set(Array.from(secrets).flatMap(formsOf))].filter((form) => form !== "")
  // A secret may begin with another one.
  forms.sort((a, b) => b.length - a.length)
  // Two forms may begin alike. Whole forms are replaced first, so that no end of one remains.
  return (text) => forms.reduce(withoutParts, forms.reduce(withoutWhole, text)).replace(marks, mark)
}

/** The ways in which a host may write it. In a host's own text control characters have become blanks by now. */
const formsOf = (secret: string): ReadonlyArray<string> => [
  secret,
  secret.replace(/\p{Cc}+/gu, " ").trim(),
  JSON.stringify(secret).slice(1, -1),
  ...inUrl(secret),
  ...inBase64(Buffer.from(secret)),
]

/** Hexadecimal digits occur in both cases. */
const inUrl = (secret: string): ReadonlyArray<string> => {
  const written = encodeURIComponent(secret.toWellFormed())
  return [written, written.replace(/%../g, (code) => code.toLowerCase())]
}

/** The fewest bytes of a secret whose base64 is searched for: that of a shorter one may occur in any text. */
const shortestInBase64 = 8

/**
 * The parts of a secret's base64 that are the same in every text that contains the secret. Base64 turns three bytes
 * into four characters, so there are three variants, one for each offset. The characters at the ends depend on
 * neighboring bytes and are left out.
 */
const inBase64 = (secret: Buffer): ReadonlyArray<string> => {
  if (secret.length < shortestInBase64) return []
  return [0, 1, 2].flatMap((before) => {
    const end = before + secret.length
    const written = Buffer.concat([Buffer.alloc(before), secret]).toString("base64")
    const own = written.slice(Math.ceil((before * 4) / 3), Math.floor((end * 4) / 3))
    return [own, own.replaceAll("+", "-").replaceAll("/", "_")]
  })
}

const withoutWhole = (text: string, secret: string): string => {
  if (secret.length < shortestInWords) return withoutWord(text, secret)
  return text.includes(secret) ? text.replaceAll(secret, mark) : text
}

const withoutParts = (text: string, secret: string): string =>
  secret.length < shortestInWords ? text : withoutEnds(withoutBeginnings(text, secret), secret)

const withinWord = /[\p{L}\p{N}_]/u

const withoutWord = (text: string, word: string): string => {
  let shown = text
  for (let at = shown.indexOf(word); at >= 0; at = shown.indexOf(word, at + 1)) {
    const after = at + word.length
    if (withinWord.test(shown.slice(at - 1, at)) || withinWord.test(shown.slice(after, after + 1))) continue
    shown = shown.slice(0, at) + mark + shown.slice(after)
    at += mark.length - 1
  }
  return shown
}

const withoutBeginnings = (text: string, secret: string): string => {
  const start = secret.slice(0, shortestCut)
  let shown = text
  for (let at = shown.indexOf(start); at >= 0; at = shown.indexOf(start, at + 1)) {
    let length = start.length
    while (length < secret.length && at + length < shown.length && shown[at + length] === secret[length]) length++
    const isCut = length >= shortestCut && at + length === shown.length
    if (isCut || length >= shortestPart) shown = shown.slice(0, at) + mark + shown.slice(at + length)
  }
  return shown
}

const withoutEnds = (text: string, secret: string): string => {
  if (secret.length <= shortestPart) return text
  const end = secret.slice(-shortestPart)
  let shown = text
  for (let at = shown.indexOf(end); at >= 0; at = shown.indexOf(end, at + 1)) {
    let from = at
    for (let of = secret.length - shortestPart; from > 0 && of > 0 && shown[from - 1] === secret[of - 1]; of--) from--
    shown = shown.slice(0, from) + mark + shown.slice(at + shortestPart)
    at = from
  }
  return shown
}

/** Whether a word of letters and digits may be a key or the id of one: it is long, and has digits. */
export const looksLikeKey = (word: string): boolean => word.length >= 16 && /\d/.test(word)

/** A key of this gateway as `sk-gw-AbC...xyz`: the prefix, the first three characters and the last three. */
export const mask = (secret: string): string => {
  const prefix = /^sk-gwm?-/.exec(secret)?.[0] ?? ""
  return `${prefix}${secret.slice(prefix.length, prefix.length + 3)}...${secret.slice(-3)}`
}

const keyForms = /sk-gwm?-[0-9A-Za-z]{49}/g

/**
 * Masks every key of this gateway in the text. Use it for text from a request that is kept, logged or answered: a
 * client may have put a key where a model or a title belongs.
 */
export const withoutKeys = (text: string): string => (text.includes("sk-gw") ? text.replace(keyForms, mask) : text)
