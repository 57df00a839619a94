/** Classes of bytes in HTTP/1.1, as tables with a place for each byte. RFC 9110, 5.5 and 5.6.2. */
import { isHeaderName } from "../../wire/head.ts"

export const cr = 13
export const lf = 10
export const space = 32
const tab = 9
export const colon = 58
export const semicolon = 59

const tableOf = (belongs: (byte: number) => boolean): Uint8Array =>
  Uint8Array.from({ length: 256 }, (_, byte) => (belongs(byte) ? 1 : 0))

/** Bytes of a header's name. */
export const isToken = tableOf((byte) => isHeaderName(String.fromCharCode(byte)))

/** Bytes of a header's value: no control character but the tab. */
export const isValue = tableOf((byte) => byte === tab || (byte >= space && byte !== 127))

/** The value of a hexadecimal digit, or 255. */
export const hexDigit = Uint8Array.from({ length: 256 }, (_, byte) => {
  const digit = Number.parseInt(String.fromCharCode(byte), 16)
  return Number.isNaN(digit) ? 255 : digit
})
