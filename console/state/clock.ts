/** The present, for ages and ranges: it moves once a second for ages, and once a minute for ranges. */
import { computed, signal } from "@preact/signals"

export const now = signal(new Date())

/** Whole minutes, so that a range stays the same question for a minute. */
const minutes = computed(() => Math.floor(now.value.getTime() / 60_000))
export const thisMinute = computed(() => new Date(minutes.value * 60_000))

/** Called once, at the start. */
export const startClock = (): void => {
  setInterval(() => {
    now.value = new Date()
  }, 1000)
}
