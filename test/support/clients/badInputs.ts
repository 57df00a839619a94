/** What every refusal must look like, and a check for it. */
import { expect } from "bun:test"

export type Json = Record<string, unknown>

/** A valid request. */
export const fine: Json = { model: "acme/small", messages: [{ role: "user", content: "hi" }] }

export interface Refusal {
  readonly status: number
  /** What the message must say. */
  readonly says: string | RegExp
  /** Where the first fault is, for a 400 that has a place. */
  readonly path?: string
  /** `error_type`, where it is not the usual one of the status. */
  readonly type?: string
}

const usualTypes: Readonly<Record<number, string>> = {
  400: "invalid_request",
  402: "payment_required",
  403: "permission_denied",
  404: "not_found",
  408: "timeout",
  413: "payload_too_large",
  429: "rate_limit_exceeded",
}

/** Stacks, files and addresses of hosts. */
const innards = /node_modules|\/work\/|\.[jt]s:\d|\bat \w+ \(|127\.0\.0\.1|https?:|key-of-acme|\bselect\b.*\bfrom\b/i

/**
 * Checks everything about an error answer that every one has in common, and returns its metadata. `secrets` must not be
 * in it.
 */
export const expectRefusal = async (
  response: Response,
  { status, says, path, type = usualTypes[status] }: Refusal,
  secrets: ReadonlyArray<string> = [],
): Promise<Json> => {
  const text = await response.text()
  expect({ status: response.status, text }).toEqual({ status, text })
  expect(response.headers.get("content-type")).toBe("application/json")
  const id = response.headers.get("x-gw-request-id") ?? ""
  expect(id).toMatch(/^req_[A-Za-z0-9]{24}$/)
  expect([response.headers.get("x-request-id"), response.headers.get("request-id")]).toEqual([id, id])
  const body = JSON.parse(text) as { readonly error: Json & { readonly message: string; readonly metadata?: Json } }
  expect(Object.keys(body)).toEqual(["error"])
  // What `availability` holds is tested for each code in errorBody.test.ts and chatAvailability.test.ts.
  const { code, message, metadata, availability: _, ...more } = body.error
  expect(more).toEqual({})
  expect(code).toBe(status)
  expect(message).toMatch(says)
  expect(message).toMatch(/[^.]\.$/)
  expect(text).not.toMatch(innards)
  for (const secret of secrets) expect(text).not.toContain(secret)
  if (status === 401) {
    expect(metadata).toBeUndefined()
    expect(response.headers.get("www-authenticate")).toBe("Bearer")
    return {}
  }
  expect(metadata?.["error_type"]).toBe(type)
  if (status === 400) {
    expect(metadata?.["path"]).toBe(path ?? "")
    const issues = metadata?.["issues"] as ReadonlyArray<Json>
    expect(issues.length).toBeWithin(1, 11)
    expect(issues[0]?.["path"]).toBe(path ?? "")
  }
  return metadata ?? {}
}
