/** How a host differs from the common form of the chat protocol. */
export interface ChatQuirks {
  /** The member that bounds the output. Default `max_tokens`. */
  readonly maxTokens?: "max_tokens" | "max_completion_tokens"
  /** How reasoning is requested: by `reasoning_effort` (default), by the caller's own members, or not at all. */
  readonly reasoning?: "effort" | "router" | "none"
  /**
   * The efforts that a model (as the host calls it) knows; the nearest one is sent. Empty: those that the catalogue has of
   * the model; where it has none, the caller's is sent, whatever it is.
   */
  readonly efforts?: (upstreamModel: string) => ReadonlyArray<string>
  /** How earlier reasoning is sent in assistant messages: unchanged (default), under the other name, or not at all. */
  readonly history?: "reasoning" | "reasoning_content" | "none"
  /** The host refuses members that its vendor's API does not have. */
  readonly strict?: boolean
  /**
   * Further top-level members that the host refuses, by the names under which it would get them. `model`, `stream` and the
   * bound of the output are sent all the same, since the hold depends on the bound.
   */
  readonly drop?: ReadonlyArray<string>
  /** `false`: the host refuses `stream_options`. */
  readonly streamUsage?: boolean
  /** The host writes its reasoning into the text, between `<think>` and `</think>`. */
  readonly thinkTags?: boolean
  /** The host's `completion_tokens` exclude the reasoning, and its total does not show it. */
  readonly reasoningBeside?: boolean
}
