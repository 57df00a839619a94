/** Headers of the console's files. See docs/guarantees.md#g31. */

/** Nothing from another address, no inline script or style, no text that becomes markup, and no frame around it. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ")

export const consoleHeaders = {
  "content-security-policy": policy,
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
} as const

/** Files with a hash in their names never change. The page is asked for each time, so that it names the newest ones. */
export const immutable = { "cache-control": "public, max-age=31536000, immutable" } as const
export const revalidated = { "cache-control": "no-cache" } as const
