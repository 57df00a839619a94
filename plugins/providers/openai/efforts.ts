/** Reasoning efforts that OpenAI's models know, as its model pages had them in November 2026. */
const every = ["none", "low", "medium", "high", "xhigh", "max"]

const efforts: ReadonlyMap<string, ReadonlyArray<string>> = new Map([
  ["gpt-6.1-sol", every],
  ["gpt-6-sol", every],
  ["gpt-6-luna", every],
  ["gpt-6-astra", ["low", "medium", "high", "xhigh", "max"]],
  ["gpt-5.5", ["none", "low", "medium", "high", "xhigh"]],
  ["gpt-5-mini", ["minimal", "low", "medium", "high"]],
])

/** The efforts of a model, or of a dated snapshot of it; empty when they are unknown. */
export const effortsOf = (upstreamModel: string): ReadonlyArray<string> =>
  efforts.get(upstreamModel.replace(/-\d{4}-\d{2}-\d{2}$/, "")) ?? []
