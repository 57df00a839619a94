import type { ChatRequest } from "../../domain/Request.ts"

/** Applies `X-GW-Host`, which pins one host in place of the body's order. */
export const pinned = (request: ChatRequest, tag: string | null): ChatRequest => {
  if (tag === null || tag === "") return request
  const { routing } = request
  const preferences = { ...routing.preferences, only: [tag], order: [], allowFallbacks: false }
  return { ...request, routing: { ...routing, preferences } }
}
