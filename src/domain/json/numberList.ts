/** Lists of numbers that keep the text that they have in JSON, so that they can be passed on without being read. */

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

/** Where the number ends that begins at `from`; -1: there is none. */
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
  // e, E
  if ((code | 0x20) !== 0x65) return at
  const sign = text.charCodeAt(at + 1)
  const exponent = sign === plus || sign === minus ? at + 2 : at + 1
  const end = afterDigits(text, exponent)
  return end === exponent ? -1 : end
}

/** Where the JSON list ends whose bracket is at `start`, if it has one number at least and nothing else; -1: it is no such list. */
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

/** Whether the text is the JSON of a list of numbers, of one at least. */
export const isNumberList = (text: string): boolean => endOfNumbers(text, 0) === text.length

/** A list that is read once somebody asks for one of its numbers. The array of the proxy is filled then. */
class Unread implements ProxyHandler<Array<number>> {
  /** `undefined`: somebody has changed the numbers. */
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
    // JSON.stringify would ask for each number, which takes 6 µs.
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

  /** Runs for assignments too. */
  defineProperty(target: Array<number>, name: string | symbol, property: PropertyDescriptor): boolean {
    return Reflect.defineProperty(this.changed(target), name, property)
  }

  deleteProperty(target: Array<number>, name: string | symbol): boolean {
    return Reflect.deleteProperty(this.changed(target), name)
  }
}

const unread = new WeakMap<object, Unread>()

/** The list of a text that `isNumberList`. It is an array for everybody who looks at it. */
export const numberList = (text: string): ReadonlyArray<number> => {
  const handler = new Unread(text)
  const list = new Proxy<Array<number>>([], handler)
  unread.set(list, handler)
  return list
}

/** The JSON of a list that `numberList` made, without reading it; `undefined`: the list was made in another way, or changed. */
export const textOfNumbers = (list: object): string | undefined => unread.get(list)?.text

/**
 * A value without those of its lists that `numberList` made, once they have more than `room` characters together: such a list has up to
 * millions of numbers, which take long to write. The same value where none is left out. Recurses as deep as the value is nested.
 */
export const withoutLongLists = <A extends object>(value: A, room: { characters: number }): A => {
  let changed: Array<unknown> | Record<string, unknown> | undefined
  for (const name in value) {
    const member: unknown = value[name]
    if (typeof member !== "object" || member === null) continue
    const text = textOfNumbers(member)
    if (text !== undefined) room.characters -= text.length
    const kept = text === undefined ? withoutLongLists(member, room) : room.characters >= 0 ? member : null
    if (kept === member) continue
    changed ??= Array.isArray(value) ? [...value] : { ...value }
    Reflect.set(changed, name, kept)
  }
  // It has the members of `value`.
  return (changed ?? value) as A
}

/** The numbers in a text that `isNumberList`. */
export const numbersIn = (text: string): ReadonlyArray<number> => JSON.parse(text)
