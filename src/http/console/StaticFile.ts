/** A file that is sent as it is. */

export interface StaticFile {
  readonly contentType: string
  /** SHA-256 of the content. */
  readonly hash: string
  readonly content: Uint8Array
}

const contentTypes: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  md: "text/markdown; charset=utf-8",
  txt: "text/plain; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  json: "application/json",
  svg: "image/svg+xml",
  png: "image/png",
  webp: "image/webp",
  ico: "image/x-icon",
  woff2: "font/woff2",
  wasm: "application/wasm",
}

/** By the ending of its name; `undefined`: it has none that is known. */
export const contentTypeOf = (name: string): string | undefined => contentTypes[name.split(".").at(-1) ?? ""]

export const staticFile = (contentType: string, content: Uint8Array): StaticFile => ({
  contentType,
  content,
  hash: new Bun.CryptoHasher("sha256").update(content).digest("base64url"),
})

/** `content` for a gateway below a prefix: links that begin with `builtFor` begin with `base`. */
export const withLinksBelow = (content: Buffer, builtFor: string, base: string): Buffer =>
  Buffer.from(content.toString("utf8").replaceAll(builtFor, base))
