/** Where clients reach the API, for lines that people copy. */
import { apiBase } from "../api/base.ts"
import { session } from "./session.ts"

/** `server.public_url` where the operator gave it, else the address of this page. */
export const publicApi = (): string => {
  const known = session.value?.public_url ?? null
  return known === null ? `${location.origin}${apiBase}` : `${known.replace(/\/+$/, "")}/api/v1`
}

/** A line for a terminal that asks `model` something. */
export const firstCall = (model: string): string =>
  `curl ${publicApi()}/chat/completions -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" -d '${JSON.stringify({ model, messages: [{ role: "user", content: "Hello" }] })}'`
