/** What operators are shown of a provider, on or off: where it comes from, and why it is off. Without secrets. */

export interface ProviderNote {
  readonly slug: string
  /** For people. */
  readonly name: string
  /** Id of its plugin. */
  readonly plugin: string
  /**
   * Why it is here: the configuration names it, the environment has what it needs, it is a server on this machine that is looked for, or
   * only its plugin is installed.
   */
  readonly source: "configuration" | "environment" | "local" | "plugin"
  /** Why it is off; `null`: it is on, or waits for its server. */
  readonly why: string | null
  /** The variables of the environment that its key comes from, or, while it is off, those that would turn it on. */
  readonly variables: ReadonlyArray<string>
}
