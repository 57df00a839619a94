/** Checks of `WireForm.request`: pure, repeatable, nothing but what the host is to be told. Style 6, G28, G29. */
import { isDeepStrictEqual } from "node:util"
import { isJsonObject } from "../domain/Json.ts"
import type { UpstreamRequest } from "../wire/Form.ts"
import { attempt, type Check, deepFreeze, must, shown } from "./check.ts"
import { headerName } from "./facts.ts"
import { host, maxTokens, requestOf, unknownMember, upstreamModel } from "./samples.ts"
import { type FormSubject, secretsOf } from "./subject.ts"

const contract = "WireForm.request"

export const requestChecks = (subject: FormSubject): ReadonlyArray<Check> => {
  const check = (name: string, holds: (written: UpstreamRequest, streamed: string) => void): Check => ({
    name: `${subject.operation}: ${name}`,
    run: () => {
      for (const stream of [false, true]) {
        const written = attempt("request()", contract, () => subject.form().request(requestOf(stream), host))
        holds(written, stream ? "a stream" : "a whole answer")
      }
    },
  })
  return [
    { name: `${subject.operation}: request() is pure and repeatable`, run: () => pure(subject) },
    check("request() says a path below the base URL, and a body of JSON", wellFormed),
    check("request() holds no credentials and no addresses", (written) => discreet(subject, written)),
    check("request() passes on what it does not know", passesOn),
    check("request() asks for the model by the host's own name", namesModel),
    check("request() bounds the output", boundsOutput),
  ]
}

const pure = ({ form }: FormSubject): void => {
  for (const stream of [false, true]) {
    const [request, frozenHost] = [deepFreeze(requestOf(stream)), deepFreeze(host)]
    const { request: write } = form()
    const twice = () =>
      attempt(
        "request(), given a frozen request and host (it may not change what a fallback reads again),",
        contract,
        () => write(request, frozenHost),
      )
    const [first, second] = [twice(), twice()]
    must(
      isDeepStrictEqual(first, second),
      `request() gives different things for one request: ${shown(first)} and ${shown(second)}`,
      `${contract}: rewriting is repeatable, a fallback runs it again`,
    )
  }
}

const wellFormed = ({ method = "POST", path, headers = {}, body }: UpstreamRequest): void => {
  must(
    /^\/(?!\/)[\x21-\x7e]*$/.test(path) && !/[\\#]|(^|\/)\.\.?(\/|$)/.test(path),
    `The path ${shown(path)} is not one of printable ASCII that begins with one slash, without "..", "\\" and "#"`,
    "UpstreamRequest.path",
  )
  must(method === "GET" || method === "POST", `The method is ${shown(method)}`, "UpstreamRequest.method")
  must(isJsonObject(body), `The body is ${shown(body)}, not an object`, "UpstreamRequest.body")
  attempt("Writing the body as JSON", "UpstreamRequest.body", () => JSON.stringify(body))
  for (const [name, value] of Object.entries(headers)) {
    must(
      headerName.test(name) && typeof value === "string" && /^[\x20-\x7e]*$/.test(value),
      `The header ${shown({ [name]: value })} cannot be sent: names are tokens, values printable ASCII`,
      "UpstreamRequest.headers; G28",
    )
  }
}

/** Headers that are the house's to write. */
const houseHeaders = new Set([
  ...["authorization", "proxy-authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie", "host"],
  ...["connection", "content-length", "transfer-encoding", "forwarded", "x-forwarded-for"],
])

/** Members by which a library at the other end could be led elsewhere. */
const addressMembers = [
  ...["api_base", "base_url", "api_key", "api_version", "organization", "headers", "extra_headers", "extra_body"],
  ...["extra_query", "timeout"],
]

const discreet = ({ subject }: FormSubject, { path, headers = {}, body }: UpstreamRequest): void => {
  const own = subject.plugin.auth._tag === "Header" ? subject.plugin.auth.name.toLowerCase() : ""
  for (const name of Object.keys(headers)) {
    const lower = name.toLowerCase()
    must(
      lower !== own && !houseHeaders.has(lower),
      `request() writes the header "${name}", which is the house's: it puts the key there by the plugin's \`auth\``,
      "ProviderPlugin.auth; G29",
    )
  }
  must(
    !/[?&](key|api[-_]?key|access[-_]?token|token)=/i.test(path),
    `The path ${shown(path)} carries a credential`,
    "UpstreamRequest.path; G29",
  )
  for (const name of addressMembers) {
    must(!Object.hasOwn(body, name), `request() writes the member "${name}", which is never sent to a host`, "G29")
  }
  const url = firstUrl({ path, headers, body })
  must(
    url === undefined,
    `request() writes the address ${shown(url)}: addresses come from the host's record`,
    "UpstreamRequest; G29",
  )
  const written = JSON.stringify({ path, headers, body })
  for (const secret of secretsOf(subject)) {
    must(!written.includes(secret), "request() writes a secret of the configuration", "ProviderPlugin.auth; G29")
  }
}

/** The sample has no addresses in it, so any that is found is the plugin's. */
const firstUrl = (value: unknown): string | undefined => {
  if (typeof value === "string") return /[a-z][a-z0-9+.-]*:\/\/\S*/i.exec(value)?.[0]
  if (typeof value !== "object" || value === null) return undefined
  for (const member of Object.values(value)) {
    const found = firstUrl(member)
    if (found !== undefined) return found
  }
  return undefined
}

const passesOn = ({ body }: UpstreamRequest): void => {
  must(
    isDeepStrictEqual(memberOf(body, unknownMember.name), unknownMember.value),
    `request() drops or changes a member of the caller's body that it does not know (${unknownMember.name})`,
    `${contract}: what is not known is passed on; G29`,
  )
}

const memberOf = (value: unknown, wanted: string): unknown => {
  if (typeof value !== "object" || value === null) return undefined
  if (Object.hasOwn(value, wanted)) return Reflect.get(value, wanted)
  for (const member of Object.values(value)) {
    const found = memberOf(member, wanted)
    if (found !== undefined) return found
  }
  return undefined
}

const namesModel = ({ path, body }: UpstreamRequest): void => {
  const named = body["model"] ?? body["modelId"]
  const inPath = decodeURIComponent(path).includes(upstreamModel)
  must(
    named === upstreamModel || (named === undefined && inPath),
    `request() asks for the model ${shown(named ?? path)}, the host calls it ${shown(upstreamModel)} (Host.upstreamModel)`,
    contract,
  )
}

const boundsOutput = ({ body }: UpstreamRequest, streamed: string): void => {
  const numbers: Array<unknown> = []
  JSON.stringify(body, (_, value) => {
    if (typeof value === "number") numbers.push(value)
    return value
  })
  must(
    numbers.includes(maxTokens.bound) && !numbers.includes(maxTokens.asked),
    `request() for ${streamed} does not carry ChatRequest.maxTokens (${maxTokens.bound}; ${maxTokens.asked} in the caller's body does not count): ` +
      "the bound is what the house has put money aside for",
    "ChatRequest.maxTokens; G1",
  )
}
