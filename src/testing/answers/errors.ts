/**
 * Checks of `Provider.error`: the meaning of each status, that no body makes it throw, and that details are sanitized.
 */
import { HostFailed } from "../../domain/failures/Failure.ts"
import type { HostReason } from "../../domain/failures/HostReason.ts"
import { isJsonObject } from "../../domain/json/json.ts"
import type { Provider } from "../../plugin/Provider.ts"
import { attempt, type Check, deepFreeze, must, shown } from "../Check.ts"
import { anyJson, forAll } from "../samples.ts"
import { type ErrorSample, load, type ProviderSubject } from "../subject.ts"
import { failsAs } from "./Outcome.ts"

const contract = "Provider.error"

const meanings: ReadonlyArray<readonly [statuses: ReadonlyArray<number>, reasons: ReadonlyArray<HostReason>]> = [
  [[401, 402], ["account"]],
  [[403], ["forbidden", "account"]],
  [[404], ["not-found"]],
  [[429], ["rate-limited"]],
  [[500, 503, 529], ["overloaded"]],
  [[400, 422], ["request"]],
]

/** Statuses that may be about the request if their body is a readable error. */
const ofRequest: ReadonlyArray<number> = [400, 422]

/** Bodies without information, so that the status alone decides. */
const wordless: ReadonlyArray<unknown> = ["", {}]

/** Errors whose words match no vendor's. */
const plain: ReadonlyArray<unknown> = [{ error: { message: "Sorry." } }, { message: "Sorry." }]

/** Answers that are never about the request: other statuses, and pages from a proxy or a web server. */
const ofNoRequest: ReadonlyArray<readonly [statuses: ReadonlyArray<number>, bodies: ReadonlyArray<unknown>]> = [
  [
    [405, 407, 410, 421, 451],
    [...wordless, ...plain],
  ],
  [[400, 404, 413, 422], ["<html><body>Sorry</body></html>"]],
]

export const errorChecks = (subject: ProviderSubject): ReadonlyArray<Check> => [
  ...meanings.map(([statuses, reasons]) => ({
    name: `error(): ${statuses.join(", ")} is ${reasons.join(" or ")}`,
    run: () => means(load(subject), statuses, reasons),
  })),
  { name: "error(): other 4xx statuses and HTML pages are never request", run: () => blamesTheHost(load(subject)) },
  { name: "error(): a rate limit keeps the host's Retry-After", run: () => keepsWait(load(subject)) },
  { name: "error() never throws, and cuts and cleans what it shows", run: () => survives(load(subject)) },
  { name: "error() shows nothing of a secret", run: () => discreet(load(subject)) },
  ...namedErrors(subject).map((sample) => ({
    name: `error(): ${sample.name} is ${sample.expects.reason}`,
    run: () => meansAs(load(subject), sample),
  })),
]

/** Errors with names of their own. */
export const namedErrors = ({
  errors = [],
}: ProviderSubject): ReadonlyArray<ErrorSample & { readonly name: string }> => {
  const names = new Set<string>()
  return errors.map((sample) => {
    const wanted = sample.name ?? String(sample.status)
    let name = wanted
    for (let more = 2; names.has(name); more++) name = `${wanted} (${more})`
    names.add(name)
    return { ...sample, name }
  })
}

const meansAs = (provider: Provider, { name, status, headers = {}, body = "", expects }: ErrorSample): void => {
  const failure = call(provider, status, body, { ...headers })
  failsAs(failure, expects, { of: `error() of ${name ?? status}`, hinted: waitIn(headers, body) })
  clean(failure)
}

/** Seconds to wait, as a member or header of the sample names them: `retryDelay: "35s"`, `retry_after: 35`, `Retry-After: 35`. */
export const waitIn = (headers: Readonly<Record<string, string>>, body: unknown): number | undefined => {
  const found: Array<number> = []
  const search = (value: unknown): void => {
    if (Array.isArray(value)) for (const each of value) search(each)
    else if (isJsonObject(value)) {
      for (const [name, member] of Object.entries(value)) {
        const [, seconds] = /^(\d+(?:\.\d+)?)s?$/.exec(String(member)) ?? []
        if (/retry[-_]?(after|delay|in)(?!.*ms$)/i.test(name) && seconds !== undefined)
          found.push(Math.ceil(Number(seconds)))
        else search(member)
      }
    }
  }
  search([headers, body])
  return found[0]
}

const call = (provider: Provider, status: number, body: unknown, headers: Record<string, string> = {}): HostFailed => {
  const what = () => `error() of ${status} and ${shown(body)}`
  const failure = attempt(what, contract, () => provider.error(status, new Headers(headers), body))
  must(
    failure instanceof HostFailed,
    () => `${what()} gave ${shown(failure)}, not a HostFailed of headgate/plugin`,
    contract,
  )
  return failure
}

const means = (provider: Provider, statuses: ReadonlyArray<number>, reasons: ReadonlyArray<HostReason>): void => {
  for (const status of statuses) {
    for (const body of ofRequest.includes(status) ? plain : wordless) {
      const { reason } = call(provider, status, body)
      must(
        reasons.includes(reason),
        `error() says that ${status} is "${reason}", expected "${reasons.join('" or "')}" (httpError knows the table)`,
        contract,
      )
    }
  }
}

const blamesTheHost = (provider: Provider): void => {
  for (const [statuses, bodies] of ofNoRequest) {
    for (const status of statuses) {
      for (const body of bodies) {
        const { reason } = call(provider, status, body)
        must(
          reason !== "request",
          () =>
            `error() says that ${status} with ${shown(body)} is "request", so the client gets a 400 and no other host is tried: use httpError, which has the table`,
          contract,
        )
      }
    }
  }
}

const keepsWait = (provider: Provider): void => {
  const { retryAfterSeconds } = call(provider, 429, {}, { "retry-after": "17" })
  must(
    retryAfterSeconds === 17,
    `error() of 429 with "Retry-After: 17" has retryAfterSeconds ${shown(retryAfterSeconds)}: the host would be called again too soon`,
    "HostFailed.retryAfterSeconds",
  )
}

const statuses = [
  ...[204, 301, 400, 401, 402, 403, 404, 408, 409, 413, 418, 422, 425, 429, 451, 500, 501, 502, 503, 504, 529, 599],
]

const garbage: ReadonlyArray<unknown> = [
  ...["", "\0", "<html><head>", "null"],
  ...[null, undefined, 0, -1, true, [], [[]], [null], {}, { error: null }, { error: [] }, { error: {} }],
  ...[{ error: 7 }, { error: { message: 7, code: {}, type: [], status: null } }, { error: { message: null } }],
  ...[{ message: { message: {} } }, { error: { error: { error: {} } } }, { detail: [{ msg: 7 }] }, { detail: [null] }],
]

const mebibyte = 1_048_576

/** A value nested as deeply as the longest body that is read allows. */
const deeplyNested = (): unknown => {
  let value: unknown = []
  for (let depth = 0; depth < 30_000; depth++) value = [value]
  return value
}

/** Made when they are needed: they are large. */
const extremeBodies = (): ReadonlyArray<unknown> => {
  const deep = deeplyNested()
  const long = { message: `a\r\n\0\u2028${"y".repeat(mebibyte)}`, code: "z".repeat(mebibyte), type: "\r\n" }
  return ["x".repeat(mebibyte), { error: long }, deep, { error: deep }, { error: { message: deep, code: deep } }]
}

const survives = (provider: Provider): void => {
  for (const status of statuses) {
    for (const body of garbage) clean(call(provider, status, deepFreeze(body), { "retry-after": "soon" }))
  }
  for (const body of extremeBodies()) {
    for (const status of [400, 429, 500]) clean(call(provider, status, body))
  }
  forAll(anyJson, (body) => {
    for (const status of [400, 401, 429, 503]) {
      clean(call(provider, status, body))
      clean(call(provider, status, { error: body }))
    }
  })
}

const clean = ({ reason, detail, code, retryAfterSeconds: wait }: HostFailed): void => {
  const fits = (text: unknown, most: number) =>
    text === undefined || (typeof text === "string" && text.length <= most && !/\p{Cc}/u.test(text))
  must(
    fits(detail, 1024),
    () => `The detail ${shown(detail)} is not a clean text of at most 1024 characters`,
    "HostFailed.detail",
  )
  must(
    fits(code, 100),
    () => `The code ${shown(code)} is not a clean text of at most 100 characters`,
    "HostFailed.code",
  )
  must(
    wait === undefined || (Number.isFinite(wait) && wait >= 0),
    `retryAfterSeconds is ${wait} for a "${reason}" without a time in it`,
    "HostFailed.retryAfterSeconds",
  )
}

const secret = "sk-check-7d1f0c8e2b6a4953"

/** Messages about the operator's account or the host's own failures must not be shown to the caller. */
const discreet = (provider: Provider): void => {
  const said = `Incorrect API key provided: ${secret}.`
  const bodies = [
    said,
    { message: said },
    { detail: said },
    { error: said },
    { error: { message: said, type: "invalid_request_error", code: "invalid_api_key" } },
    { type: "error", error: { type: "authentication_error", message: said } },
    { error: { message: said, status: "UNAUTHENTICATED", code: 401 } },
  ]
  for (const status of [401, 402, 403, 500, 502, 503]) {
    for (const body of bodies) {
      const { detail = "", code = "", message } = call(provider, status, body)
      must(
        !`${detail} ${code} ${message}`.includes(secret),
        `error() of ${status} shows the host's words about a key (${shown(detail)}): the caller reads \`detail\``,
        "HostFailed.detail",
      )
    }
  }
}
