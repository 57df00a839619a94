/** Storage in memory whose writes, or whose reading of what a key spent, can be kept waiting. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Storage } from "../../src/services/Storage.ts"

export interface Gate {
  /** From now on calls wait. */
  readonly close: () => void
  /** Lets all through that wait, and those to come. */
  readonly open: () => void
  /** Calls that wait now. */
  readonly waiting: () => number
}

const gateOf = (): Gate & { readonly pass: Effect.Effect<void> } => {
  let closed = false
  let queue: Array<() => void> = []
  return {
    close: () => {
      closed = true
    },
    open: () => {
      closed = false
      const all = queue
      queue = []
      for (const resume of all) resume()
    },
    waiting: () => queue.length,
    pass: Effect.async((resume) => {
      if (closed) queue.push(() => resume(Effect.void))
      else resume(Effect.void)
    }),
  }
}

export const gatedStorage = () => {
  const append = gateOf()
  const spend = gateOf()
  const layer = Layer.effect(
    Storage,
    Effect.map(Storage, (inner) => ({
      ...inner,
      append: (rows: Parameters<typeof inner.append>[0]) => Effect.zipRight(append.pass, inner.append(rows)),
      spend: (...asked: Parameters<typeof inner.spend>) => Effect.zipRight(spend.pass, inner.spend(...asked)),
    })),
  ).pipe(Layer.provide(Storage.layerMemory))
  return { layer, append: append as Gate, spend: spend as Gate }
}
