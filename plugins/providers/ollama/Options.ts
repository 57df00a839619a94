/** What the operator sets for a server of Ollama. */
export interface Options {
  /** `options.num_ctx`: tokens of the context that the server reserves memory for. Absent: the server decides. */
  readonly contextTokens: number | undefined
}
