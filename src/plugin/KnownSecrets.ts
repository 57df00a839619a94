/** A provider's secrets besides its `credentials`: those of its configuration, and tokens that it fetched to sign requests. */

/** Fetched secrets that are kept. A provider uses one token at a time, or a few. */
const mostFetched = 64

export class KnownSecrets {
  private readonly configured: ReadonlyArray<string>
  private readonly fetched = new Set<string>()
  /** Increases whenever the known secrets change. */
  version = 0

  constructor(configured: Iterable<string> = []) {
    this.configured = Array.from(configured).filter((secret) => !isPath(secret))
  }

  /** Adds fetched secrets, and drops the oldest beyond `mostFetched`. */
  learn(secrets: ReadonlyArray<string>): void {
    this.version += 1
    for (const secret of secrets) {
      this.fetched.delete(secret)
      this.fetched.add(secret)
    }
    for (const secret of this.fetched) {
      if (this.fetched.size <= mostFetched) return
      this.fetched.delete(secret)
    }
  }

  all(): ReadonlyArray<string> {
    return [...this.configured, ...this.fetched]
  }
}

/** A path such as `/run/secrets/account.json`, in place of the secret itself, is none: errors have to name it. */
const isPath = (text: string): boolean => text.length < 500 && /^[^\s{]*\/[^\s{]*\.[a-z]{2,5}$/.test(text)
