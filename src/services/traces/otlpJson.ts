/** Spans as OTLP in JSON (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding). Pure. */
import { fractional } from "./conventions.ts"
import type { Attributes, AttributeValue, FinishedSpan } from "./FinishedSpan.ts"

const kinds = { internal: 1, server: 2, client: 3 } as const
const errorStatus = 2

/** The part of a span's text. */
export const spanJson = (span: FinishedSpan): string => {
  const { traceId, spanId, parentId, name, kind, began, ended, attributes, isError, linkTo } = span
  const parent = parentId === null ? "" : `,"parentSpanId":"${parentId}"`
  const links = linkTo === null ? "" : `,"links":[{"traceId":"${traceId}","spanId":"${linkTo}","attributes":[]}]`
  return (
    `{"traceId":"${traceId}","spanId":"${spanId}"${parent},"name":${stringJson(name)},"kind":${kinds[kind]}` +
    `,"startTimeUnixNano":"${nanos(began)}","endTimeUnixNano":"${nanos(Math.max(began, ended))}"` +
    `,"attributes":${attributesJson(attributes)}${links},"status":{${isError ? `"code":${errorStatus}` : ""}}}`
  )
}

/** The body of an export. `spans`: texts of `spanJson`. */
export const exportJson = (resource: Attributes, version: string, spans: ReadonlyArray<string>): string =>
  `{"resourceSpans":[{"resource":{"attributes":${attributesJson(resource)}},"scopeSpans":[{"scope":{"name":"headgate"` +
  `,"version":${JSON.stringify(version)}},"spans":[${spans.join(",")}]}]}]}`

const attributesJson = (attributes: Attributes): string => {
  let text = "["
  for (const [key, value] of attributes) {
    text += `${text === "[" ? "" : ","}{"key":${stringJson(key)},"value":${valueJson(value, fractional.has(key))}}`
  }
  return `${text}]`
}

const valueJson = (value: AttributeValue, isFractional: boolean): string => {
  if (typeof value === "string") return `{"stringValue":${stringJson(value)}}`
  if (typeof value === "boolean") return `{"boolValue":${value}}`
  if (typeof value === "number") return `{"${isFractional ? "doubleValue" : "intValue"}":${value}}`
  return `{"arrayValue":{"values":[${value.map((each) => valueJson(each, false)).join(",")}]}}`
}

/** Nothing in it has to be escaped, which is quicker to see than to do. */
const isPlain = /^[ !#-[\]-~]*$/

const stringJson = (text: string): string => (isPlain.test(text) ? `"${text}"` : JSON.stringify(text))

/** Unix milliseconds as nanoseconds, which are too many digits for a number. */
const nanos = (ms: number): string => {
  const whole = Math.floor(ms)
  const rest = Math.min(999_999, Math.round((ms - whole) * 1e6))
  return `${whole}${String(rest).padStart(6, "0")}`
}
