/**
 * When some event last happened, by key. It keeps two times, not one for each key: that of the latest key and that of the latest other
 * one. They tell for any key when another key than it was last concerned.
 */
export class LatestKeys {
  private key: string | undefined
  private at = Number.NEGATIVE_INFINITY
  /** The latest time of any other key than `key`. */
  private othersAt = Number.NEGATIVE_INFINITY

  /** `now`: by a clock that never steps back. */
  add(key: string, now: number): void {
    if (key !== this.key) {
      this.othersAt = this.at
      this.key = key
    }
    this.at = now
  }

  /** The latest time of any key but this one; `-Infinity`: never. */
  latestBut(key: string): number {
    return key === this.key ? this.othersAt : this.at
  }
}
