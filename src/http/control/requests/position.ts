/**
 * A position in the order in which requests are written, as answers have it: sealed, and each time in other words, since its numbers
 * would tell a key how many requests all keys have made.
 */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto"
import type { WrittenTo } from "../../../services/storage/requests.ts"

const algorithm = "aes-256-gcm"
const nonceBytes = 12
const tagBytes = 16

const keyOf = (secret: string): Buffer => createHash("sha256").update(secret).digest()

/** Of base64url. */
export const positionForm = /^[\w-]{40,120}$/

export const sealed = ({ record, row }: WrittenTo, secret: string): string => {
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv(algorithm, keyOf(secret), nonce)
  // Of one length, whatever the numbers are.
  const numbers = Buffer.alloc(16)
  numbers.writeBigUInt64BE(BigInt(record), 0)
  numbers.writeBigUInt64BE(BigInt(row), 8)
  const text = Buffer.concat([cipher.update(numbers), cipher.final()])
  return Buffer.concat([nonce, text, cipher.getAuthTag()]).toString("base64url")
}

/** `undefined`: it is none of this installation. */
export const unsealed = (position: string, secret: string): WrittenTo | undefined => {
  const bytes = Buffer.from(position, "base64url")
  if (bytes.byteLength !== nonceBytes + 16 + tagBytes) return undefined
  const decipher = createDecipheriv(algorithm, keyOf(secret), bytes.subarray(0, nonceBytes))
  decipher.setAuthTag(bytes.subarray(-tagBytes))
  try {
    const numbers = Buffer.concat([decipher.update(bytes.subarray(nonceBytes, -tagBytes)), decipher.final()])
    return { record: Number(numbers.readBigUInt64BE(0)), row: Number(numbers.readBigUInt64BE(8)) }
  } catch {
    return undefined
  }
}
