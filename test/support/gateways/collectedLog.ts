/** Keeps the lines that a gateway logs, for `startGateway({ setting })`. */
import type * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"

export interface CollectedLog {
  /** Level and first part of the message: `ERROR the disk is full`. */
  readonly lines: Array<string>
  /** Everything that was logged, as JSON. */
  readonly texts: Array<string>
  readonly layer: Layer.Layer<never>
}

export const collectedLog = (): CollectedLog => {
  const lines: Array<string> = []
  const texts: Array<string> = []
  const logger = Logger.make(({ logLevel, message }) => {
    const parts = Array.isArray(message) ? message : [message]
    lines.push(`${logLevel.label} ${String(parts[0])}`)
    texts.push(
      `${logLevel.label} ${parts.map((part) => (typeof part === "string" ? part : JSON.stringify(part))).join(" ")}`,
    )
  })
  return { lines, texts, layer: Logger.add(logger) }
}
