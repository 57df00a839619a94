/** The secrets of a provider that its `credentials` do not name: those of its configuration, and what it fetched in order to sign. */

/** How many fetched ones are remembered. A provider has one token at a time, or a few. */
const mostFetched = 64

export class KnownSecrets {
  private readonly configured: ReadonlyArray<string>
  private readonly fetched = new Set<string>()

  constructor(configured: Iterable<string> = []) {
    this.configured = Array.from(configured).filter((secret) => !isPath(secret))
  }

  /** Remembers what was fetched. The oldest ones are forgotten. */
  learn(secrets: ReadonlyArray<string>): void {
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

/** A secret may be given as the path of a file, which an error has to name: `/run/secrets/account.json`. */
const isPath = (text: string): boolean => text.length < 500 && /^[^\s{]*\/[^\s{]*\.[a-z]{2,5}$/.test(text)
