/** Storage in memory whose writes, or whose reads of a key's spend, a test can block. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Storage } from "../../../src/services/storage/Storage.ts"
import { lastingStorage } from "./lastingStorage.ts"

export interface Gate {
  /** From now on calls wait. */
  readonly close: () => void
  /** Lets all waiting calls through, and all later ones. */
  readonly open: () => void
  /** Calls that are waiting now. */
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

/** A layer of this storage. */
export const gatedStorage = () => {
  const [append, spend, find] = [gateOf(), gateOf(), gateOf()]
  const { keys, ledger, ...others } = Effect.runSync(Effect.provide(Storage, lastingStorage))
  const layer = Layer.succeed(Storage, {
    ...others,
    keys: { ...keys, find: (...asked) => Effect.zipRight(find.pass, keys.find(...asked)) },
    ledger: {
      ...ledger,
      append: (...asked) => Effect.zipRight(append.pass, ledger.append(...asked)),
      spend: (...asked) => Effect.zipRight(spend.pass, ledger.spend(...asked)),
    },
  })
  const gates: Readonly<Record<"append" | "spend" | "findKey", Gate>> = { append, spend, findKey: find }
  return { layer, gates }
}
