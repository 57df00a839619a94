/**
 * The line that says what is running when it takes longer than a second. In a terminal it is updated in place, and goes away at the
 * end; elsewhere there is a line at the beginning, one for each part, and one at the end.
 */
/** From when on something is said, and how often a terminal is told how long it has taken. */
export const patienceMs = 1000

/** What has been said of one piece of work. `write` must not wait. */
export class ProgressLine {
  private part = ""
  private isShown = false
  private readonly since = performance.now()
  private readonly name: string
  private readonly isTerminal: boolean
  private readonly write: (text: string) => void

  constructor(name: string, isTerminal: boolean, write: (text: string) => void) {
    this.name = name
    this.isTerminal = isTerminal
    this.write = write
  }

  say(part: string): void {
    this.part = part
    if (this.isShown) this.show()
  }

  /** To be called when a second has passed, and in a terminal each second after it. */
  show(): void {
    this.isShown = true
    const text = this.part === "" ? this.name : `${this.name}: ${this.part}`
    this.write(this.isTerminal ? `\r\u001b[K${text} (${this.seconds(0)} s)` : `headgate: ${text} …\n`)
  }

  end(): void {
    if (!this.isShown) return
    this.write(this.isTerminal ? "\r\u001b[K" : `headgate: ${this.name}: it took ${this.seconds(1)} s\n`)
  }

  private seconds(digits: number): string {
    return ((performance.now() - this.since) / 1000).toFixed(digits)
  }
}

/** Shows the line after a second, by timers of this thread. Returns what ends it. */
export const watched = (line: ProgressLine, isTerminal: boolean): (() => void) => {
  let timer = setTimeout(function show() {
    line.show()
    if (isTerminal) timer = setTimeout(show, patienceMs)
  }, patienceMs)
  timer.unref()
  return () => {
    clearTimeout(timer)
    line.end()
  }
}
