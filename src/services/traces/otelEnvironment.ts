/**
 * The variables of OpenTelemetry that count (https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/), decoded.
 * docs/traces.md lists them. A value that cannot be read is left out with a warning, as the specification asks. Pure.
 */
import { isLowerCaseHeaderName } from "../../wire/head.ts"
import { defaultSampler, type Sampler, samplerNames, samplerOf } from "./Sampler.ts"

export type Environment = Readonly<Record<string, string | undefined>>

/** Where spans go. */
export interface Collector {
  readonly url: string
  /** Names in lower case. Values may be secrets. */
  readonly headers: Readonly<Record<string, string>>
  /** Milliseconds of one export. */
  readonly timeoutMs: number
  readonly isCompressed: boolean
}

export interface OtelSettings {
  /** `undefined`: spans are not exported. */
  readonly collector: Collector | undefined
  readonly sampler: Sampler
  /** What the operator says of this process: `service.name` and others. */
  readonly resource: ReadonlyMap<string, string>
  /** Spans that wait at most, and spans of one export. */
  readonly queueSpans: number
  readonly batchSpans: number
  /** Milliseconds that a span waits for others. */
  readonly delayMs: number
  /** Sentences about what could not be read. They have no values, which may be secrets. */
  readonly warnings: ReadonlyArray<string>
}

export const readOtelEnvironment = (environment: Environment): OtelSettings => {
  const reader = new Reader(environment)
  const sampler = reader.sampler()
  const collector = reader.isOff() ? undefined : reader.collector()
  const queueSpans = reader.number("OTEL_BSP_MAX_QUEUE_SIZE", 2048, 1)
  return {
    ...{ collector, sampler, queueSpans },
    resource: reader.resource(),
    batchSpans: Math.min(queueSpans, reader.number("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 512, 1)),
    delayMs: reader.number("OTEL_BSP_SCHEDULE_DELAY", 5000, 0),
    warnings: reader.warnings,
  }
}

/** Larger numbers of milliseconds or spans are taken for mistakes. */
const mostNumber = 1_000_000
/** Characters that the value of a header may have. */
const headerValue = /^[\t\x20-\x7e]*$/

class Reader {
  readonly warnings: Array<string> = []
  private readonly environment: Environment

  constructor(environment: Environment) {
    this.environment = environment
  }

  /** Whether there is to be no export: it is switched off, or wants an exporter or a protocol that the gateway does not have. */
  isOff(): boolean {
    if (this.text("OTEL_SDK_DISABLED").toLowerCase() === "true") return true
    const exporter = this.text("OTEL_TRACES_EXPORTER")
    if (exporter === "none") return true
    if (exporter !== "" && exporter !== "otlp") {
      this.warnings.push("OTEL_TRACES_EXPORTER is neither otlp nor none: no traces are exported")
      return true
    }
    const protocol = this.either("PROTOCOL")
    const value = this.text(protocol)
    if (value === "" || value === "http/json") return false
    if (value === "http/protobuf") {
      this.warnings.push(
        `${protocol} is http/protobuf: spans are sent as http/json, which collectors take at the same address`,
      )
      return false
    }
    this.warnings.push(`${protocol} has to be http/json: no traces are exported`)
    return true
  }

  collector(): Collector | undefined {
    const own = this.text("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
    const general = this.text("OTEL_EXPORTER_OTLP_ENDPOINT")
    const isUnasked = own === "" && general === "" && this.text("OTEL_TRACES_EXPORTER") === ""
    if (isUnasked) return undefined
    const base = general === "" ? "http://localhost:4318" : general
    const url = own === "" ? `${base.replace(/\/+$/, "")}/v1/traces` : own
    if (!isHttpUrl(url)) {
      const name = own === "" ? "OTEL_EXPORTER_OTLP_ENDPOINT" : "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
      this.warnings.push(`${name} has to be an http or https URL without user and password: no traces are exported`)
      return undefined
    }
    const compression = this.either("COMPRESSION")
    const isCompressed = this.text(compression) === "gzip"
    if (!isCompressed && !["", "none"].includes(this.text(compression))) {
      this.warnings.push(`${compression} is neither gzip nor none: spans are sent uncompressed`)
    }
    const timeoutMs = this.number(this.either("TIMEOUT"), 10_000, 1)
    return { url, headers: this.headers(), timeoutMs, isCompressed }
  }

  sampler(): Sampler {
    const name = this.text("OTEL_TRACES_SAMPLER")
    if (name === "") return defaultSampler
    const found = samplerOf(name, this.text("OTEL_TRACES_SAMPLER_ARG"))
    if (found !== undefined) return found
    this.warnings.push(
      samplerNames.includes(name)
        ? "OTEL_TRACES_SAMPLER_ARG is no number from 0 to 1: parentbased_always_on is used"
        : `OTEL_TRACES_SAMPLER is none of ${samplerNames.join(", ")}: parentbased_always_on is used`,
    )
    return defaultSampler
  }

  resource(): ReadonlyMap<string, string> {
    const service = this.text("OTEL_SERVICE_NAME")
    const attributes = new Map([["service.name", "headgate"], ...this.pairs("OTEL_RESOURCE_ATTRIBUTES")])
    return service === "" ? attributes : attributes.set("service.name", service)
  }

  /** A whole number of at least `least`. */
  number(name: string, absent: number, least: number): number {
    const written = this.text(name)
    if (written === "") return absent
    const value = Number(written)
    if (Number.isInteger(value) && value >= least && value <= mostNumber) return value
    this.warnings.push(`${name} is no whole number from ${least} to ${mostNumber}: ${absent} is used`)
    return absent
  }

  private headers(): Record<string, string> {
    const name = this.either("HEADERS")
    const headers: Record<string, string> = {}
    for (const [key, value] of this.pairs(name)) {
      const header = key.toLowerCase()
      if (isLowerCaseHeaderName(header) && headerValue.test(value)) headers[header] = value
      else this.warnings.push(`${name} has a header that cannot be sent: it is left out`)
    }
    return headers
  }

  /** `a=1,b=2`, with percent signs in the values. */
  private pairs(name: string): ReadonlyArray<readonly [string, string]> {
    return this.text(name)
      .split(",")
      .flatMap((part): ReadonlyArray<readonly [string, string]> => {
        if (part.trim() === "") return []
        const at = part.indexOf("=")
        const key = part.slice(0, Math.max(0, at)).trim()
        const value = decoded(part.slice(at + 1).trim())
        if (key !== "" && value !== undefined) return [[key, value]]
        this.warnings.push(`${name} has a part that is not of the form name=value: it is left out`)
        return []
      })
  }

  /** The name of the variable for traces where that is set, else of the one for everything. */
  private either(part: string): string {
    const own = `OTEL_EXPORTER_OTLP_TRACES_${part}`
    return this.text(own) === "" ? `OTEL_EXPORTER_OTLP_${part}` : own
  }

  private text(name: string): string {
    return this.environment[name]?.trim() ?? ""
  }
}

const isHttpUrl = (text: string): boolean => {
  if (!/^https?:\/\/[^/]/i.test(text) || !URL.canParse(text)) return false
  const { username, password } = new URL(text)
  return username === "" && password === ""
}

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
