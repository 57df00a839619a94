/** Bodies of hosts, read with a bound: they are hostile input like any other. Reliability page, rule 5 and G10. */
import { HostFailed } from "../domain/Failure.ts"

/** The text of an answer of at most `limit` bytes. Throws `HostFailed` where there is more. */
export const readText = async (response: Response, limit: number): Promise<string> => {
  const length = response.headers.get("content-length")
  // The length of a compressed body says nothing of what comes out of it.
  if (length !== null && Number(length) <= limit && !response.headers.has("content-encoding")) return response.text()
  const decoder = new TextDecoder()
  let body = ""
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength
    if (size > limit) throw new HostFailed({ reason: "malformed" })
    body += decoder.decode(chunk, { stream: true })
  }
  return body + decoder.decode()
}

/** The same, cut at the limit: for what only explains. */
export const readStart = async (response: Response, limit: number): Promise<string> => {
  const decoder = new TextDecoder()
  let body = ""
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength
    body += decoder.decode(chunk, { stream: true })
    if (size >= limit) break
  }
  return body.slice(0, limit)
}
