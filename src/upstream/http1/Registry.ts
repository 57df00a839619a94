/** All that is open: connections and dials. One coarse timer watches their deadlines, and stops when nothing is open. */
import { type Member, Roster } from "../../domain/structures/Roster.ts"

export interface Watched extends Member {
  /** When `expire` is due, in milliseconds of `performance.now()`; `Infinity`: never. */
  readonly deadline: number
  readonly expire: () => void
  /** Closes it, and fails the exchange that it serves. */
  readonly shutdown: (cause: Error) => void
}

/** A deadline is noticed at most this much late. */
const tickMs = 250

export class Registry {
  readonly #open = new Roster<Watched>()
  #timer: ReturnType<typeof setInterval> | undefined

  add(watched: Watched): void {
    this.#open.add(watched)
    if (this.#timer !== undefined) return
    this.#timer = setInterval(() => this.#tick(), tickMs)
    this.#timer.unref()
  }

  remove(watched: Watched): void {
    this.#open.delete(watched)
    if (this.#open.size > 0 || this.#timer === undefined) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  shutdown(cause: Error): void {
    this.#open.each((watched) => watched.shutdown(cause))
  }

  #tick(): void {
    const now = performance.now()
    this.#open.each((watched) => {
      if (watched.deadline <= now) watched.expire()
    })
  }
}
