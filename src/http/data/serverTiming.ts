/** `Server-Timing` (https://www.w3.org/TR/server-timing/): what the time of a whole answer was spent on. Pure. */
import type { Observation } from "../../services/request/Observation.ts"
import { answeringOf } from "../../services/request/Observation.ts"

/**
 * The value of the header, for an answer that is handed over now: parts in their order, in milliseconds, which add up to the time since the
 * first byte. One that the request did not come to is left out. See docs/access-log.md#server-timing.
 */
export const serverTiming = (observed: Observation): string => {
  const { bodyAsked, bodyRead, admitted, booked } = observed
  let [value, before] = ["", 0]
  const until = (name: string, at: number | null | undefined): void => {
    if (at == null) return
    // Whole microseconds, so that rounding loses nothing of the sum.
    const micros = Math.max(before, Math.round(at * 1000))
    value += `${value === "" ? "" : ", "}${name};dur=${(micros - before) / 1000}`
    before = micros
  }
  until("admit", bodyAsked)
  until("read", bodyRead)
  until("decode", admitted)
  addCalls(observed, until)
  until("book", booked)
  until("write", observed.elapsed())
  return value
}

/** Failed calls are one part, whatever hosts they went to. */
const addCalls = ({ attempts }: Observation, until: (name: string, at: number | null) => void): void => {
  if (attempts.length === 0) return
  const answering = answeringOf(attempts)
  until("plan", Math.min(...attempts.map(({ began }) => began)))
  until("attempts", answering?.began ?? Math.max(...attempts.map(({ ended }) => ended)))
  if (answering !== undefined) until("host", answering.received ?? answering.ended)
}
