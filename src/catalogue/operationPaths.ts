/** Recognises a base URL that ends with the path of an operation, to which a protocol would add that path once more. Pure. */

const operations = [
  "chat/completions",
  "completions",
  "messages",
  "responses",
  "embeddings",
  "rerank",
  "converse",
  "models",
]

const ending = new RegExp(`/(${operations.join("|")})/*$`, "i")

/** The operation at the end of this address, such as `/chat/completions`; `undefined`: none. */
export const operationAtEnd = (baseUrl: string): string | undefined => {
  const operation = ending.exec(baseUrl)?.[1]
  return operation === undefined ? undefined : `/${operation.toLowerCase()}`
}
