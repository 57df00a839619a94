/**
 * The line that says what is running when it takes longer than a second. In a terminal it is updated in place, and goes away at the
 * end; elsewhere there is a line at the beginning, one for each part, and one at the end.
 */

/** From when on something is said, and how often a terminal is told how long it has taken. */
export const patienceMs = 1000

/** Begins with the first report of what is done. `write` must not wait. */
export class ProgressLine {
  private what = ""
  private since = 0
  private isShown = false
  private timer: ReturnType<typeof setTimeout> | undefined
  private readonly isTerminal: boolean
  private readonly write: (text: string) => void

  constructor(isTerminal: boolean, write: (text: string) => void) {
    this.isTerminal = isTerminal
    this.write = write
  }

  say(what: string): void {
    this.what = what
    if (this.isShown) this.show()
    if (this.timer !== undefined) return
    this.since = performance.now()
    this.wait()
  }

  /** Writes the line; called when a second has passed, and in a terminal each second after it. */
  show(): void {
    this.isShown = true
    this.write(this.isTerminal ? `\r\u001b[K${this.what} (${this.seconds(0)} s)` : `headgate: ${this.what} …\n`)
  }

  end(): void {
    clearTimeout(this.timer)
    if (!this.isShown) return
    this.write(this.isTerminal ? "\r\u001b[K" : `headgate: ${this.what}: it took ${this.seconds(1)} s\n`)
  }

  private wait(): void {
    this.timer = setTimeout(() => {
      this.show()
      if (this.isTerminal) this.wait()
    }, patienceMs)
    this.timer.unref()
  }

  private seconds(digits: number): string {
    return ((performance.now() - this.since) / 1000).toFixed(digits)
  }
}
