/**
 * Checks of access tokens that `Provider.sign` fetches: what it does where they are refused, when they end, and for several
 * requests at once. Every check has one loaded provider, and counts the requests that it makes.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { isJsonObject } from "../../domain/json/json.ts"
import type { Encoded } from "../../formats/Protocol.ts"
import type { SideAnswer } from "../../plugin/Provider.ts"
import { type Check, must, shown } from "../Check.ts"
import { parsed } from "../requests/Sent.ts"
import { isLacking, type ProviderSubject } from "../subject.ts"
import { type Answering, contract, endOf, failureIn, sideAnswers, signerOf, someRequest, start } from "./Signer.ts"

export const tokenChecks = (subject: ProviderSubject): ReadonlyArray<Check> => {
  const check = (says: string, run: (fetching: Fetching) => Promise<void>): Check => ({
    name: `sign() ${says}`,
    run: async () => {
      const fetching = await fetchingOf(subject)
      if (fetching !== undefined) await run(fetching)
    },
  })
  return [
    check("fails as a host where a token is refused, and asks again for the next request", takesRefusals),
    check("fetches one token for many requests", fetchesOnce),
    check("fetches another token when one has expired", renews),
    check("writes a token into no path", keepsTokenOutOfPath),
  ]
}

/** A provider that fetches tokens. */
export interface Fetching {
  readonly subject: ProviderSubject
  readonly encoded: Encoded
  readonly http: Answering
  /** How many requests it makes for one token. */
  readonly calls: number
  /** What the vendor answered to them. */
  readonly answers: ReadonlyArray<SideAnswer>
}

/** Counts requests, and keeps their answers. A test of the clock has answers with tokens that differ. */
class Vendor {
  calls = 0
  readonly answers: Array<SideAnswer> = []
  private readonly inner: Answering

  constructor(inner: Answering) {
    this.inner = inner
  }

  readonly http: Answering = (request) =>
    Effect.suspend(() => {
      this.calls++
      return Effect.tap(this.inner(request), (answer) => Effect.sync(() => void this.answers.push(answer)))
    })
}

/** `undefined`: it does not sign, which another check reports, or fetches nothing. */
export const fetchingOf = async (subject: ProviderSubject): Promise<Fetching | undefined> => {
  const encoded = someRequest(subject)
  if (encoded === undefined) return undefined
  const vendor = new Vendor(sideAnswers(subject))
  const exit = await (await signerOf(subject)).run(encoded, { http: vendor.http })
  if (Exit.isFailure(exit) || vendor.calls === 0) return undefined
  return { subject, encoded, http: sideAnswers(subject), calls: vendor.calls, answers: vendor.answers }
}

// --- refused tokens

const refusals: ReadonlyArray<readonly [status: number, body: string | undefined]> = [
  // The body of an answer that is fine: only the status says that it is none.
  [401, undefined],
  [500, undefined],
  [400, '{"error":"invalid_grant","error_description":"HEADGATE"}'],
  [401, '{"error":"invalid_client"}'],
  [403, '{"error":{"code":403,"message":"HEADGATE","status":"PERMISSION_DENIED"}}'],
  [401, "Unauthorized"],
  [429, '{"error":"slow_down"}'],
  [500, "<html>Sorry</html>"],
  [503, ""],
]

const takesRefusals = async ({ subject, encoded, http }: Fetching): Promise<void> => {
  for (const [status, body] of refusals) {
    const signer = await signerOf(subject)
    const what = `sign(), whose request for a token is answered with ${status} and ${body === undefined ? "the body of a good answer" : shown(body)},`
    const exit = await signer.run(encoded, {
      http: (request) => Effect.map(http(request), (good) => ({ ...good, status, body: body ?? good.body })),
    })
    must(Exit.isFailure(exit), `${what} signs all the same: it does not look at the status`, contract)
    const failure = failureIn(exit)
    must(failure !== undefined, () => `${what} ${endOf(exit)}: it has to give a HostFailed`, contract)
    must(
      failure.reason !== "request" && (status !== 401 || failure.reason === "account"),
      `${what} fails as "${failure.reason}": a token that is refused is the operator's account, not the caller's request`,
      "HostReason",
    )
    const next = await signer.run(encoded, { http })
    must(
      Exit.isSuccess(next),
      () => `After a refusal with ${status}, sign() ${endOf(next)}: the next request asks for a token again`,
      contract,
    )
  }
}

// --- several requests

const several = 8

const fetchesOnce = async ({ subject, encoded, http, calls }: Fetching): Promise<void> => {
  const vendor = new Vendor((request) => Effect.zipRight(Effect.yieldNow(), http(request)))
  const signer = await signerOf(subject)
  const all = Effect.all(
    Array.from({ length: several }, () => signer.sign(encoded, { http: vendor.http })),
    { concurrency: "unbounded" },
  )
  const exit = await Effect.runPromiseExit(all)
  must(Exit.isSuccess(exit), () => `${several} requests at once: sign() ${endOf(exit)}`, contract)
  must(
    vendor.calls <= calls,
    `${several} requests at once make ${vendor.calls} requests for a token, expected ${calls}: the first one fetches it, the others wait for it`,
    contract,
  )
  const before = vendor.calls
  await signer.run(encoded, { http: vendor.http, now: start + 1000 })
  must(
    vendor.calls === before,
    "sign() fetches a token for each request: it keeps one until shortly before it expires",
    contract,
  )
}

// --- time

const tokenMember = /^(?:(?:access|id|bearer|session)_?)?token$|^jwt$/i

/** The tokens in what a vendor answers. Shorter ones cannot be told from words. */
export const tokensIn = (body: string): ReadonlyArray<string> => {
  const json = parsed(body)
  if (!isJsonObject(json)) return []
  return Object.entries(json).flatMap(([name, value]) =>
    tokenMember.test(name) && typeof value === "string" && value.length >= 8 ? [value] : [],
  )
}

/** Seconds that a token holds, as the answer says; `undefined`: it does not say. */
export const secondsIn = ({ body }: SideAnswer): number | undefined => {
  const json = parsed(body)
  if (!isJsonObject(json)) return undefined
  for (const [name, value] of Object.entries(json)) {
    const number = typeof value === "string" && value !== "" ? Number(value) : value
    if (!/expir/i.test(name)) continue
    if (typeof number === "number" && Number.isFinite(number) && number > 0) {
      if (number > start / 10) return (number - start) / 1000
      return number > start / 10_000 ? number - start / 1000 : number
    }
    const at = Date.parse(String(value))
    if (Number.isFinite(at)) return (at - start) / 1000
  }
  return undefined
}

/** The answer with a mark at each of its tokens. */
const marked = (answer: SideAnswer, mark: string): SideAnswer => {
  const json = parsed(answer.body)
  if (!isJsonObject(json)) return answer
  const members = Object.entries(json).map(([name, value]) => [
    name,
    tokenMember.test(name) && typeof value === "string" ? `${value}${mark}` : value,
  ])
  return { ...answer, body: JSON.stringify(Object.fromEntries(members)) }
}

const hasTokens = ({ body }: SideAnswer): boolean => {
  const json = parsed(body)
  return isJsonObject(json) && Object.keys(json).some((name) => tokenMember.test(name))
}

const renews = async ({ subject, encoded, http, answers }: Fetching): Promise<void> => {
  if (isLacking(subject, "token expiry")) return
  const seconds = answers.map(secondsIn).find((each) => each !== undefined && each > 0)
  if (seconds === undefined) return
  let mark = "-first"
  const vendor = new Vendor((request) => Effect.map(http(request), (answer) => marked(answer, mark)))
  const signer = await signerOf(subject)
  await signer.run(encoded, { http: vendor.http })
  const before = vendor.calls
  mark = "-second"
  const exit = await signer.run(encoded, { http: vendor.http, now: start + seconds * 1000 + 1000 })
  must(
    vendor.calls > before,
    `sign() goes on with a token that holds for ${seconds} seconds, a second after its end: it compares with \`now\` of the context, and fetches another one`,
    "SignContext.now",
  )
  must(Exit.isSuccess(exit), () => `After a token has expired, sign() ${endOf(exit)}`, contract)
  const text = `${exit.value.path} ${Object.values(exit.value.headers ?? {}).join(" ")}`
  must(
    !answers.some(hasTokens) || !text.includes("-first"),
    "sign() fetches another token where one has expired, and sends the old one",
    contract,
  )
}

// --- paths

const textsOf = (value: unknown): ReadonlyArray<string> => {
  if (typeof value === "string") return value.length >= 8 ? [value] : []
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsOf) : []
}

const keepsTokenOutOfPath = async ({ subject, encoded, http, answers }: Fetching): Promise<void> => {
  const exit = await (await signerOf(subject)).run(encoded, { http })
  if (Exit.isFailure(exit)) return
  const { path } = exit.value
  const token = answers
    .flatMap(({ body }) => textsOf(parsed(body) ?? body.trim()))
    .find((text) => !encoded.path.includes(text) && (path.includes(text) || path.includes(encodeURIComponent(text))))
  must(
    token === undefined,
    `sign() writes the token that it fetched into the path: proxies and the vendor's logs keep paths. It belongs into a header`,
    contract,
  )
}
