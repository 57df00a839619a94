/** When which keys last did something, as far as is needed to say whether another key than this one did lately. */
export class LatestKeys {
  private key: string | undefined
  private at = Number.NEGATIVE_INFINITY
  /** When the latest of the other keys did it. */
  private othersAt = Number.NEGATIVE_INFINITY

  /** `now` never falls. */
  add(key: string, now: number): void {
    if (key !== this.key) {
      this.othersAt = this.at
      this.key = key
    }
    this.at = now
  }

  /** When a key other than this one last did it; `-Infinity`: never. */
  latestBut(key: string): number {
    return key === this.key ? this.othersAt : this.at
  }
}
