/** How a host departs from the common form of the chat protocol. Nothing given: it does not. */
export interface ChatQuirks {
  /** The member that bounds the output. Default `max_tokens`. */
  readonly maxTokens?: "max_tokens" | "max_completion_tokens"
  /** How reasoning is asked for: by `reasoning_effort` (default), by the caller's own members, or not at all. */
  readonly reasoning?: "effort" | "router" | "none"
  /** The efforts that a model (as the host calls it) knows; the nearest one is sent. Empty: the caller's, whatever it is. */
  readonly efforts?: (upstreamModel: string) => ReadonlyArray<string>
  /** How earlier reasoning goes back in assistant messages: as it came (default), under the other name, or not at all. */
  readonly history?: "reasoning" | "reasoning_content" | "none"
  /** The host refuses members that its vendor's API does not have. */
  readonly strict?: boolean
  /** Further top-level members that it refuses. */
  readonly drop?: ReadonlyArray<string>
  /** `false`: it refuses `stream_options`. */
  readonly streamUsage?: boolean
  /** It writes its reasoning into the text, between `<think>` and `</think>`. */
  readonly thinkTags?: boolean
  /** Its `completion_tokens` leave the reasoning out, and its total does not show it. */
  readonly reasoningBeside?: boolean
}
