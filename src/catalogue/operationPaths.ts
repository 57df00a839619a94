/** Recognises a base URL that ends with the path of an operation, to which a protocol would add that path once more. Pure. */
import { unaryNames, unaryOperations } from "../domain/request/operations.ts"

const paths = [
  ...["/chat/completions", "/completions", "/messages", "/responses"],
  ...unaryNames.map((name) => unaryOperations[name].path),
  ...["/converse", "/models"],
]

const ending = new RegExp(`(${paths.join("|")})/*$`, "i")

/** The operation at the end of this address, such as `/chat/completions`; `undefined`: none. */
export const operationAtEnd = (baseUrl: string): string | undefined => ending.exec(baseUrl)?.[1]?.toLowerCase()
