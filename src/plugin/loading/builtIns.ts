/**
 * What the language itself has for the whole process, such as `Array.prototype`. A plugin that replaces some of it changes how the gateway
 * works, and what breaks then says nothing of the plugin; so it is compared after each import of a plugin, and put back.
 */

const constructors = [
  ...[Object, Function, Array, String, Number, Boolean, Symbol, BigInt, Promise, Map, Set, WeakMap, WeakSet, RegExp],
  ...[Date, Error, TypeError, ArrayBuffer, DataView, Uint8Array, Uint32Array, AbortController, AbortSignal],
  ...[Request, Response, Headers, URL, URLSearchParams, ReadableStream, TextEncoder, TextDecoder],
]

/** Each with its name. */
const watched: ReadonlyArray<readonly [name: string, object]> = [
  ["JSON", JSON],
  ["Math", Math],
  ["Reflect", Reflect],
  ["Uint8Array's prototype", Object.getPrototypeOf(Uint8Array.prototype)],
  ["the iterators' prototype", Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]()))],
  ...constructors.flatMap(
    (constructor): ReadonlyArray<readonly [string, object]> => [
      [constructor.name, constructor],
      [`${constructor.name}.prototype`, constructor.prototype],
    ],
  ),
]

/** Members of `globalThis` that the gateway uses. */
const globals = ["fetch", "setTimeout", "clearTimeout", "setInterval", "queueMicrotask", "performance", "crypto", "Bun"]

type Descriptors = ReadonlyMap<PropertyKey, PropertyDescriptor>

/** Of methods: other members, such as `RegExp.lastMatch` and `Error.stackTraceLimit`, change by themselves or may be set. */
const descriptorsOf = (object: object, keys: ReadonlyArray<PropertyKey> = Reflect.ownKeys(object)): Descriptors => {
  const found = new Map<PropertyKey, PropertyDescriptor>()
  for (const key of keys) {
    const descriptor = Reflect.getOwnPropertyDescriptor(object, key)
    if (typeof descriptor?.value === "function") found.set(key, descriptor)
  }
  return found
}

export interface BuiltIns {
  /** Puts back what was changed since, and says what that was, such as `Array.prototype.map`. */
  readonly restore: () => ReadonlyArray<string>
}

/** How they are now. */
export const builtIns = (): BuiltIns => {
  const before = [
    ...watched.map(([name, object]) => ({
      name,
      object,
      members: descriptorsOf(object),
      known: new Set(Reflect.ownKeys(object)),
    })),
    { name: "globalThis", object: globalThis, members: descriptorsOf(globalThis, globals), known: undefined },
  ]
  return {
    restore: () => {
      const changed: Array<string> = []
      for (const { name, object, members, known } of before) {
        for (const [key, was] of members) {
          if (was.value === Reflect.getOwnPropertyDescriptor(object, key)?.value) continue
          if (Reflect.defineProperty(object, key, was)) changed.push(`${name}.${String(key)}`)
        }
        if (known === undefined) continue
        for (const key of Reflect.ownKeys(object)) {
          // What does not show in loops, as a polyfill adds it, harms nobody.
          if (known.has(key) || Reflect.getOwnPropertyDescriptor(object, key)?.enumerable !== true) continue
          if (Reflect.deleteProperty(object, key)) changed.push(`${name}.${String(key)}`)
        }
      }
      return changed
    },
  }
}
