/** Lists of numbers that keep their JSON text, so that they can be passed on without being parsed. */

const opening = 0x5b
const closing = 0x5d
const comma = 0x2c
const minus = 0x2d
const plus = 0x2b
const dot = 0x2e
const zero = 0x30
const nine = 0x39

const isBlank = (code: number): boolean => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09

const afterBlanks = (text: string, from: number): number => {
  let at = from
  while (isBlank(text.charCodeAt(at))) at++
  return at
}

const afterDigits = (text: string, from: number): number => {
  let at = from
  for (let code = text.charCodeAt(at); code >= zero && code <= nine; code = text.charCodeAt(at)) at++
  return at
}

/** The end of the number that begins at `from`; -1: there is none. */
const afterNumber = (text: string, from: number): number => {
  const first = text.charCodeAt(from) === minus ? from + 1 : from
  let at = text.charCodeAt(first) === zero ? first + 1 : afterDigits(text, first)
  if (at === first) return -1
  let code = text.charCodeAt(at)
  if (code === dot) {
    const end = afterDigits(text, at + 1)
    if (end === at + 1) return -1
    at = end
    code = text.charCodeAt(at)
  }
  // The letter e or E.
  if ((code | 0x20) !== 0x65) return at
  const sign = text.charCodeAt(at + 1)
  const exponent = sign === plus || sign === minus ? at + 2 : at + 1
  const end = afterDigits(text, exponent)
  return end === exponent ? -1 : end
}

/** The end of the JSON list that opens at `start`, if it contains only numbers, and at least one; -1: it does not. */
export const endOfNumbers = (text: string, start: number): number => {
  if (text.charCodeAt(start) !== opening) return -1
  let at = start
  do {
    at = afterNumber(text, afterBlanks(text, at + 1))
    if (at === -1) return -1
    at = afterBlanks(text, at)
  } while (text.charCodeAt(at) === comma)
  return text.charCodeAt(at) === closing ? at + 1 : -1
}

/** Whether the text is the JSON of a list of one or more numbers. */
export const isNumberList = (text: string): boolean => endOfNumbers(text, 0) === text.length

/** Parses the list when a number is first read. The target array of the proxy is filled then. */
class Unread implements ProxyHandler<Array<number>> {
  /** `undefined`: the numbers were changed. */
  text: string | undefined
  private isRead = false

  constructor(text: string) {
    this.text = text
  }

  private read(target: Array<number>): Array<number> {
    if (this.isRead || this.text === undefined) return target
    this.isRead = true
    for (const number of numbersIn(this.text)) target.push(number)
    return target
  }

  private changed(target: Array<number>): Array<number> {
    const list = this.read(target)
    this.text = undefined
    return list
  }

  get(target: Array<number>, name: string | symbol): unknown {
    const { text } = this
    // JSON.stringify would read each number through the proxy, which takes 6 µs.
    if (name === "toJSON" && text !== undefined) return () => numbersIn(text)
    return Reflect.get(this.read(target), name)
  }

  has(target: Array<number>, name: string | symbol): boolean {
    return Reflect.has(this.read(target), name)
  }

  ownKeys(target: Array<number>): ReturnType<typeof Reflect.ownKeys> {
    return Reflect.ownKeys(this.read(target))
  }

  getOwnPropertyDescriptor(target: Array<number>, name: string | symbol): PropertyDescriptor | undefined {
    return Reflect.getOwnPropertyDescriptor(this.read(target), name)
  }

  /** Assignments arrive here too. */
  defineProperty(target: Array<number>, name: string | symbol, property: PropertyDescriptor): boolean {
    return Reflect.defineProperty(this.changed(target), name, property)
  }

  deleteProperty(target: Array<number>, name: string | symbol): boolean {
    return Reflect.deleteProperty(this.changed(target), name)
  }
}

const unread = new WeakMap<object, Unread>()

/** The list for a text that passes `isNumberList`. It behaves as an array. */
export const numberList = (text: string): ReadonlyArray<number> => {
  const handler = new Unread(text)
  const list = new Proxy<Array<number>>([], handler)
  unread.set(list, handler)
  return list
}

/** The JSON of a list that `numberList` made, without parsing it; `undefined`: another list, or a changed one. */
export const textOfNumbers = (list: object): string | undefined => unread.get(list)?.text

/**
 * A value without those of its lists that `numberList` made, once they have more than `left` characters together: such a
 * list has up to millions of numbers, which take long to write. Returns the same value where none is left out. Recurses as
 * deep as the value is nested.
 */
export const withoutLongLists = <A extends object>(value: A, left: { characters: number }): A => {
  let changed: object | undefined
  for (const name in value) {
    const member: unknown = value[name]
    if (typeof member !== "object" || member === null) continue
    const text = textOfNumbers(member)
    if (text !== undefined) left.characters -= text.length
    const kept = text === undefined ? withoutLongLists(member, left) : left.characters >= 0 ? member : null
    if (kept === member) continue
    changed ??= Array.isArray(value) ? [...value] : { ...value }
    Reflect.set(changed, name, kept)
  }
  // It has the members of `value`.
  return (changed ?? value) as A
}

/** Parses a text that passes `isNumberList`. */
export const numbersIn = (text: string): ReadonlyArray<number> => JSON.parse(text)

/** Digits of a number from which it may be beyond float32. */
const manyDigits = 38

const isDigit = (code: number): boolean => code >= zero && code <= nine

/**
 * Whether a text that `isNumberList` has a number with an exponent that is not negative, or one of 38 digits. All others
 * are within float32.
 * Looks at a part of the text alone: at what follows an exponent, and around every 38th character.
 */
export const mayBeLarge = (text: string): boolean =>
  hasPositiveExponent(text, "e") || hasPositiveExponent(text, "E") || hasManyDigits(text)

const hasPositiveExponent = (text: string, sign: string): boolean => {
  for (let at = text.indexOf(sign); at !== -1; at = text.indexOf(sign, at + 1))
    if (text.charCodeAt(at + 1) !== minus) return true
  return false
}

const hasManyDigits = (text: string): boolean => {
  for (let at = manyDigits - 1; at < text.length; at += manyDigits) {
    if (!isDigit(text.charCodeAt(at))) continue
    let first = at
    while (isDigit(text.charCodeAt(first - 1))) first--
    if (afterDigits(text, at) - first >= manyDigits) return true
  }
  return false
}
