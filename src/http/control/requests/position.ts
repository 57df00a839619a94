/**
 * Encrypts positions in the list of requests, differently each time, because answers show them. The numbers of a
 * position would tell a key how many requests all keys have made, and the id at which a search ended may belong to
 * another key's request.
 */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto"
import type { WrittenTo } from "../../../services/storage/requests.ts"

const algorithm = "aes-256-gcm"
const nonceBytes = 12
const tagBytes = 16

const keyOf = (secret: string): Buffer => createHash("sha256").update(secret).digest()

/** Characters of base64url. */
export const positionForm = /^[\w-]{40,120}$/

const seal = (bytes: Buffer, secret: string): string => {
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv(algorithm, keyOf(secret), nonce)
  const text = Buffer.concat([cipher.update(bytes), cipher.final()])
  return Buffer.concat([nonce, text, cipher.getAuthTag()]).toString("base64url")
}

/** `undefined`: the text was not encrypted with this secret. */
const unseal = (sealed: string, secret: string): Buffer | undefined => {
  const bytes = Buffer.from(sealed, "base64url")
  if (bytes.byteLength < nonceBytes + tagBytes) return undefined
  const decipher = createDecipheriv(algorithm, keyOf(secret), bytes.subarray(0, nonceBytes))
  decipher.setAuthTag(bytes.subarray(-tagBytes))
  try {
    return Buffer.concat([decipher.update(bytes.subarray(nonceBytes, -tagBytes)), decipher.final()])
  } catch {
    return undefined
  }
}

/** Padded to one length, whatever the numbers are. */
const positionBytes = 16

export const sealed = ({ record, row }: WrittenTo, secret: string): string => {
  const numbers = Buffer.alloc(positionBytes)
  numbers.writeBigUInt64BE(BigInt(record), 0)
  numbers.writeBigUInt64BE(BigInt(row), 8)
  return seal(numbers, secret)
}

/** `undefined`: this installation did not make it. */
export const unsealed = (position: string, secret: string): WrittenTo | undefined => {
  const numbers = unseal(position, secret)
  if (numbers?.byteLength !== positionBytes) return undefined
  return { record: Number(numbers.readBigUInt64BE(0)), row: Number(numbers.readBigUInt64BE(8)) }
}

export const sealedId = (id: string, secret: string): string => seal(Buffer.from(id), secret)

/** The encrypted id; a text that is not encrypted is an id itself. */
export const unsealedId = (after: string, secret: string): string => unseal(after, secret)?.toString() ?? after
