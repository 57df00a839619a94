/**
 * Figures of several workers as one: a worker that is asked for figures asks the supervisor, which asks the others, adds all up, and sends the
 * sum back. The supervisor keeps what ended workers have counted, so that no counter steps back.
 */
import * as Effect from "effect/Effect"
import { isJsonObject } from "../../domain/json/json.ts"
import type { Snapshot } from "../../services/metrics/Family.ts"
import type { Fleet } from "../../services/metrics/Metrics.ts"
import { countedIn, merged } from "../../services/metrics/snapshot.ts"
import { onProcess } from "./processEvents.ts"

/** What workers and their supervisor send each other. `round`: which question it belongs to; 0: none. */
export type FiguresMessage =
  /** A worker asks for the figures of all workers, and sends its own. */
  | { readonly figures: "ask-all"; readonly round: number; readonly snapshot: Snapshot }
  /** The supervisor asks a worker for its figures. */
  | { readonly figures: "ask-own"; readonly round: number }
  /** A worker sends its figures. */
  | { readonly figures: "own"; readonly round: number; readonly snapshot: Snapshot }
  /** The supervisor sends the sum of all workers' figures. */
  | { readonly figures: "all"; readonly round: number; readonly snapshot: Snapshot }

/** Nobody else writes into the channel, so the rest of the message is not looked at. */
export const isFiguresMessage = (message: unknown): message is FiguresMessage =>
  isJsonObject(message) && typeof message["figures"] === "string"

/** How long a worker waits for the supervisor, and the supervisor for the workers, milliseconds. */
const allWithinMs = 3000
const ownWithinMs = 1000

/** How often a worker sends its figures unasked, milliseconds. So a worker that is killed loses only the latest ones. */
const tellEveryMs = 10_000

/** The fleet of a worker. */
export const workerFleet = (): Fleet => {
  const waiting = new Map<number, (all: Snapshot | undefined) => void>()
  let rounds = 0
  const send = (message: FiguresMessage): void => {
    if (process.connected) process.send?.(message)
  }
  return {
    all: (snapshot) =>
      new Promise((resolve) => {
        const round = ++rounds
        const end = (all: Snapshot | undefined): void => {
          clearTimeout(late)
          waiting.delete(round)
          resolve(all)
        }
        const late = setTimeout(end, allWithinMs, undefined)
        waiting.set(round, end)
        send({ figures: "ask-all", round, snapshot })
      }),
    join: (own) =>
      Effect.gen(function* () {
        const tell = (round: number): void => send({ figures: "own", round, snapshot: own() })
        yield* onProcess("message", (message) => {
          if (!isFiguresMessage(message)) return
          if (message.figures === "ask-own") tell(message.round)
          else if (message.figures === "all") waiting.get(message.round)?.(message.snapshot)
        })
        yield* Effect.acquireRelease(
          Effect.sync(() => setInterval(() => tell(0), tellEveryMs).unref()),
          (telling) =>
            Effect.sync(() => {
              clearInterval(telling)
              tell(0)
            }),
        )
      }),
  }
}

/** Ended workers whose late messages still count: many more than can end while a message is under way. */
const mostGone = 64

/** A worker that the supervisor asks for figures. */
export interface AskedWorker {
  /** Sends a message; whether that was possible. */
  readonly tell: (message: FiguresMessage) => boolean
}

/** What the supervisor knows of the figures of all workers. */
export class FleetFigures {
  /** The last figures of each running worker. */
  private readonly latest = new Map<AskedWorker, Snapshot>()
  /** What recently ended workers have counted: the last message of each may come after its end. */
  private readonly gone = new Map<AskedWorker, Snapshot>()
  /** The sum of what workers counted that ended earlier. */
  private ended: Snapshot = []
  private rounds = 0
  /** By round: the workers that have not answered. */
  private readonly asked = new Map<number, { readonly left: Set<AskedWorker>; readonly end: () => void }>()

  /** `workers`: all that serve. */
  received(from: AskedWorker, message: FiguresMessage, workers: Iterable<AskedWorker>): void {
    if (message.figures === "own") this.told(from, message.round, message.snapshot)
    else if (message.figures === "ask-all") this.askAll(from, message.round, message.snapshot, workers)
  }

  /** Its process is gone. */
  workerEnded(worker: AskedWorker): void {
    this.gone.set(worker, countedIn(this.latest.get(worker) ?? []))
    this.latest.delete(worker)
    for (const [oldest, counted] of this.gone) {
      if (this.gone.size <= mostGone) break
      this.gone.delete(oldest)
      this.ended = merged([this.ended, counted])
    }
    for (const round of this.asked.keys()) this.answered(worker, round)
  }

  private told(from: AskedWorker, round: number, snapshot: Snapshot): void {
    this.keep(from, snapshot)
    this.answered(from, round)
  }

  private askAll(from: AskedWorker, theirRound: number, own: Snapshot, workers: Iterable<AskedWorker>): void {
    this.keep(from, own)
    const round = ++this.rounds
    const left = new Set<AskedWorker>()
    for (const worker of workers) {
      if (worker !== from && worker.tell({ figures: "ask-own", round })) left.add(worker)
    }
    const end = (): void => {
      clearTimeout(late)
      if (!this.asked.delete(round)) return
      from.tell({
        figures: "all",
        round: theirRound,
        snapshot: merged([this.ended, ...this.gone.values(), ...this.latest.values()]),
      })
    }
    // A worker that does not answer counts with its last figures.
    const late = setTimeout(end, ownWithinMs)
    this.asked.set(round, { left, end })
    if (left.size === 0) end()
  }

  private keep(from: AskedWorker, snapshot: Snapshot): void {
    if (this.gone.has(from)) this.gone.set(from, countedIn(snapshot))
    else this.latest.set(from, snapshot)
  }

  private answered(worker: AskedWorker, round: number): void {
    const asked = this.asked.get(round)
    if (asked === undefined) return
    asked.left.delete(worker)
    if (asked.left.size === 0) asked.end()
  }
}
