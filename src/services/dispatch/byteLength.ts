/** Bytes of the body that a host is sent. */
export const byteLength = (body: string | Uint8Array): number =>
  typeof body === "string" ? Buffer.byteLength(body) : body.byteLength
