import type { MakeIds } from "../request/TraceContext.ts"

const poolBytes = 4096

/** Ids from random bytes of the system, which are drawn many at a time. */
export class SpanIds implements MakeIds {
  private readonly pool = Buffer.alloc(poolBytes)
  private at = poolBytes

  readonly trace = (): string => this.take(16)
  readonly span = (): string => this.take(8)

  private take(bytes: number): string {
    if (this.at + bytes > poolBytes) {
      crypto.getRandomValues(this.pool)
      this.at = 0
    }
    const id = this.pool.toString("hex", this.at, this.at + bytes)
    this.at += bytes
    // All zeros are no id.
    return /[^0]/.test(id) ? id : this.take(bytes)
  }
}
