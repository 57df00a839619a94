/** How a host differs from OpenAI's own Responses API. */
export interface ResponsesQuirks {
  /**
   * `ReasoningDetail.format` of its reasoning: pieces of this format alone go back to it. Default
   * `openai-responses-v1`.
   */
  readonly format?: string
  /**
   * What of earlier reasoning the host takes: items with encrypted content (default), those with plain text too, or
   * none. Without encrypted content a host that stores nothing does not know its own items.
   */
  readonly history?: "encrypted" | "text" | "none"
  /** As `ChatQuirks.efforts`. */
  readonly efforts?: (upstreamModel: string) => ReadonlyArray<string>
  /** The least bound of the output that the host accepts, in tokens. Default 1. */
  readonly leastTokens?: number
  /**
   * Whether a model (as the host calls it) takes `prompt_cache_breakpoint` on parts of the input, which stands for
   * `cache_control`. Default: none does.
   */
  readonly breakpoints?: (upstreamModel: string) => boolean
  /** As `Protocol.baseUrl`. */
  readonly baseUrl?: string
  /** As `NativeProtocol.ofEveryHost`. */
  readonly ofEveryHost?: boolean
  /** As `ChatQuirks.own`. */
  readonly own?: ReadonlyArray<string>
  /** Further top-level members that the host refuses. */
  readonly drop?: ReadonlyArray<string>
}

export const defaultFormat = "openai-responses-v1"
