/**
 * The header `traceparent` of W3C Trace Context (https://www.w3.org/TR/trace-context/), and the member `trace` of a body, which says the
 * same in other words. Pure.
 */
import { isJsonObject } from "../json/json.ts"

/** The span of a caller within which a request is made. */
export interface RemoteParent {
  /** 32 hexadecimal digits in lower case. */
  readonly traceId: string
  /** 16 of them. */
  readonly spanId: string
  readonly isSampled: boolean
}

const form = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/
const traceIdForm = /^[\da-f]{32}$/
const spanIdForm = /^[\da-f]{16}$/
const onlyZeros = /^0+$/

/**
 * `undefined`: it is absent or invalid. Capitals, ids of zeros and the version `ff` are invalid. A later version may have more after its
 * flags, which is not read.
 */
export const parseTraceparent = (header: string | null): RemoteParent | undefined => {
  const [, version, traceId = "", spanId = "", flags = "", more] = (header === null ? null : form.exec(header)) ?? []
  if (version === undefined || version === "ff" || (version === "00" && more !== undefined)) return undefined
  if (onlyZeros.test(traceId) || onlyZeros.test(spanId)) return undefined
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

export const formatTraceparent = ({ traceId, spanId, isSampled }: RemoteParent): string =>
  `00-${traceId}-${spanId}-${isSampled ? "01" : "00"}`

/** The member `trace` of a body. Members that are no such id or name are left out. */
export interface TraceMember {
  readonly traceId: string | null
  readonly parentSpanId: string | null
  readonly traceName: string | null
  readonly spanName: string | null
  readonly generationName: string | null
}

/** Characters of a name. A longer one is cut. */
const longestName = 128

/** `undefined`: there is none, or nothing in it can be used. */
export const parseTraceMember = (member: unknown): TraceMember | undefined => {
  if (!isJsonObject(member)) return undefined
  const id = (value: unknown, wanted: RegExp) =>
    typeof value === "string" && wanted.test(value) && !onlyZeros.test(value) ? value : null
  const name = (value: unknown) => (typeof value === "string" && value !== "" ? value.slice(0, longestName) : null)
  const read = {
    traceId: id(member["trace_id"], traceIdForm),
    parentSpanId: id(member["parent_span_id"], spanIdForm),
    traceName: name(member["trace_name"]),
    spanName: name(member["span_name"]),
    generationName: name(member["generation_name"]),
  }
  return Object.values(read).some((value) => value !== null) ? read : undefined
}
