/**
 * Which hook of a plugin runs now, in memory that another thread can read while this one is blocked (`src/app/workers/watchdog.ts`). A hook may
 * be called for each chunk of a stream, so marking one is a store of a number.
 */

/** Indexes into `shared`: the hook that runs (0: none), the last asynchronous hook that began, and a count of heartbeats. */
export const place = { hook: 0, begun: 1, beat: 2 } as const

/** One for the process, whose gateways share the event loop. */
export const shared = new Int32Array(new SharedArrayBuffer(3 * Int32Array.BYTES_PER_ELEMENT))

/** Numbers of hooks by their names, such as `acme.protocols.chat.decode`. 0 is no hook. */
const numbers = new Map<string, number>()
let onName: ((name: string, number: number) => void) | undefined

/** The number of a hook. The same name has the same number, also after a reload. */
export const numberOf = (name: string): number => {
  const known = numbers.get(name)
  if (known !== undefined) return known
  const number = numbers.size + 1
  numbers.set(name, number)
  onName?.(name, number)
  return number
}

/** Calls `listener` with each name there is, and with those to come. */
export const followNames = (listener: (name: string, number: number) => void): void => {
  onName = listener
  for (const [name, number] of numbers) listener(name, number)
}

/** A hook begins. Until `left` this thread runs its code alone: hooks do not nest. */
export const entered = (number: number): void => {
  shared[place.hook] = number
}

export const left = (): void => {
  shared[place.hook] = 0
}

/** An asynchronous hook begins. What it runs after its first `await` is not marked. */
export const begun = (number: number): void => {
  shared[place.hook] = number
  shared[place.begun] = number
}
