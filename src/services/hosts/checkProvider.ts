/**
 * Makes a request that costs nothing to a provider, with its key, and says what is wrong: for `headgate doctor`. The call goes the same way
 * as an inference: through the same client, by the same rules for addresses, signed by the plugin.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import { type ProviderEndpoint, providerEndpoint } from "../../catalogue/endpoints.ts"
import type { LoadedProvider } from "../../catalogue/Providers.ts"
import { HostFailed } from "../../domain/failures/Failure.ts"
import { isJsonObject } from "../../domain/json/json.ts"
import { hiding } from "../../domain/json/redaction.ts"
import type { Encoded } from "../../formats/Protocol.ts"
import type { SideAnswer } from "../../plugin/Provider.ts"
import { environmentProxy } from "../../upstream/environmentProxy.ts"
import { Upstream } from "../../upstream/Upstream.ts"
import { parsedBody, refusedBy } from "../calls/answerBody.ts"
import { callFault, placeOf } from "../calls/callFault.ts"
import { callTo, makeUpstreamClient } from "../calls/UpstreamClient.ts"
import { wholeCall } from "../calls/wholeCall.ts"
import { secretsOf } from "../calls/withoutSecrets.ts"

export type CheckState = "ok" | "warning" | "wrong" | "not checked"

export interface ProviderCheck {
  readonly state: CheckState
  /** In plain words, without a full stop and without a secret. */
  readonly what: string
  /** How many milliseconds this machine's clock is ahead of the provider's; `undefined`: it did not say. */
  readonly clockAheadMs?: number
}

/** For signing and the answer. */
const answerWithinMs = 15_000
/** An answer that takes longer is slow: the gateway waits as long before each first event. */
const slowMs = 3_000
const longestAnswer = 16 * 1_048_576

const listOfModels: Encoded = { method: "GET", path: "/models", body: "" }

/** `models`: what the configuration calls models at this provider. */
export const checkProvider = (
  loaded: LoadedProvider,
  key: Redacted.Redacted | null,
  models: ReadonlyArray<string>,
): Effect.Effect<ProviderCheck, never, Upstream> => {
  if (loaded.provider.transport !== undefined)
    return Effect.succeed({ state: "ok", what: "answers within the gateway" })
  const question = questionFor(loaded, key, models)
  const { endpoint, url, proxy } = question
  return Effect.catchAll(check(question), (failure) =>
    Effect.succeed<ProviderCheck>({
      state: "wrong",
      what:
        failure.reason === "account"
          ? "its credentials are refused"
          : hiding(secretsOf(endpoint))(callFault(failure, { url, proxy })),
    }),
  )
}

/** What the provider is asked, and where. */
interface Question {
  readonly endpoint: ProviderEndpoint
  /** The same without a key. */
  readonly endpointForAnybody: ProviderEndpoint
  readonly request: Encoded
  readonly url: string
  readonly proxy: string | undefined
  readonly hasKey: boolean
  /** Models that the answer should list; none where it is no list. */
  readonly models: ReadonlyArray<string>
}

const questionFor = (
  loaded: LoadedProvider,
  key: Redacted.Redacted | null,
  models: ReadonlyArray<string>,
): Question => {
  const { keyCheck, listModels } = loaded.provider
  const fromRoot = keyCheck === undefined && listModels?.fromRoot === true
  const request = keyCheck?.request ?? listModels?.request ?? listOfModels
  const root = fromRoot ? new URL(loaded.baseUrl).origin : undefined
  const endpointWith = (used: Redacted.Redacted | null): ProviderEndpoint => {
    const endpoint = providerEndpoint(loaded, used, root ?? keyCheck?.baseUrl)
    return root === undefined ? endpoint : { ...endpoint, baseUrl: root }
  }
  const endpoint = endpointWith(key)
  const url = endpoint.baseUrl + request.path
  const proxy = endpoint.proxy ?? (endpoint.network === "public" ? environmentProxy(process.env)(url) : undefined)
  return {
    ...{ endpoint, endpointForAnybody: endpointWith(null), request, url, proxy },
    hasKey: key !== null,
    models: keyCheck === undefined ? models : [],
  }
}

const check = (question: Question): Effect.Effect<ProviderCheck, HostFailed, Upstream> =>
  Effect.gen(function* () {
    const { answer, tookMs, at } = yield* asked(question)
    const verdict = answer.status === 200 ? yield* verdictOn(question, answer, tookMs) : refusalOf(question, answer)
    return { ...verdict, ...clockAhead(answer, at) }
  })

/** `at`: about when the provider answered, Unix milliseconds. */
const asked = ({ endpoint, request }: Question) =>
  Effect.gen(function* () {
    const upstream = yield* Upstream
    const client = yield* makeUpstreamClient
    const began = yield* Clock.currentTimeMillis
    const signed = yield* client.signed(endpoint, request)
    const sent = yield* Clock.currentTimeMillis
    const answer = yield* wholeCall(upstream, callTo(endpoint, signed), longestAnswer)
    const ended = yield* Clock.currentTimeMillis
    return { answer, tookMs: ended - began, at: (sent + ended) / 2 }
  }).pipe(
    Effect.timeoutFail({
      duration: answerWithinMs,
      onTimeout: () => new HostFailed({ reason: "timeout" }),
    }),
  )

/** Of an answer with status 200. */
const verdictOn = (
  question: Question,
  { body }: SideAnswer,
  tookMs: number,
): Effect.Effect<ProviderCheck, never, Upstream> =>
  Effect.gen(function* () {
    const { endpoint, hasKey, models } = question
    const took = `answered in ${tookMs} ms`
    if (tookMs > slowMs) return { state: "warning", what: `slow: ${took}` }
    const missing = models.length === 0 ? [] : unlisted(parsedBody(body), models)
    if (missing.length > 0)
      return { state: "wrong", what: `does not list ${missing.join(", ")}, which the configuration names` }
    const hasSecret = hasKey || Object.keys(endpoint.credentials).length > 0
    if (!hasSecret) return { state: "ok", what: `${took}; no key is configured` }
    if (yield* isPublic(question))
      return { state: "not checked", what: `${took}; it lists its models for anybody, so the key was not checked` }
    return { state: "ok", what: `${took}; the key is accepted` }
  })

/** Whether the same is answered to anybody: then it says nothing about the key. */
const isPublic = ({ endpointForAnybody, request }: Question): Effect.Effect<boolean, never, Upstream> =>
  Effect.flatMap(Upstream, (upstream) =>
    wholeCall(upstream, callTo(endpointForAnybody, request), longestAnswer).pipe(
      Effect.timeout(answerWithinMs),
      Effect.map(({ status }) => status === 200),
      Effect.orElseSucceed(() => false),
    ),
  )

/** Of an answer with another status. */
const refusalOf = ({ endpoint, url, hasKey }: Question, answer: SideAnswer): ProviderCheck => {
  const { status } = answer
  const { reason } = refusedBy(endpoint, answer, answer.body)
  const place = placeOf(url)
  if (status >= 300 && status < 400) {
    const to = placeOf(new URL(answer.headers.get("location") ?? "", url).href)
    return { state: "wrong", what: `${place} redirects to ${to} (${status}): base_url is not the address of an API` }
  }
  if (status === 407) return { state: "wrong", what: "the proxy wants a user name and a password (407)" }
  if (status === 402) return { state: "wrong", what: "the account has no credit (402)" }
  if (status === 401 || reason === "account") {
    const isSigned = Object.keys(endpoint.credentials).length > 0
    const refused = isSigned
      ? `the credentials are refused (${status})`
      : `wants a key, and none is configured (${status})`
    return { state: "wrong", what: hasKey ? `the key is refused (${status})` : refused }
  }
  if (status === 403)
    return { state: "wrong", what: "refused (403): the key is wrong, or may not do this, or not from here" }
  if (status === 404 || status === 405)
    return {
      state: "not checked",
      what: `${place} answers, but has nothing at ${new URL(url).pathname} (${status}): the key was not checked`,
    }
  if (status === 429) return { state: "warning", what: "answers, and takes no more requests for now (429)" }
  return { state: status >= 500 ? "wrong" : "not checked", what: `${place} answers with status ${status}` }
}

const clockAhead = ({ headers }: SideAnswer, at: number): Pick<ProviderCheck, "clockAheadMs"> => {
  const date = Date.parse(headers.get("date") ?? "")
  // The header has whole seconds, cut off.
  return Number.isNaN(date) ? {} : { clockAheadMs: Math.round(at - date - 500) }
}

/** The models that a list of OpenAI's form, or one like it, does not have. A list that may go on says nothing. */
const unlisted = (body: unknown, models: ReadonlyArray<string>): ReadonlyArray<string> => {
  const list = isJsonObject(body) ? (body["data"] ?? body["models"]) : body
  if (!Array.isArray(list) || list.length === 0) return []
  if (isJsonObject(body) && (body["has_more"] === true || (body["nextPageToken"] ?? "") !== "")) return []
  const listed = new Set(
    list.flatMap((entry: unknown) =>
      isJsonObject(entry) ? [entry["id"], entry["name"], entry["model"]].flatMap(namesOf) : namesOf(entry),
    ),
  )
  return models.filter((model) => !namesOf(model).some((name) => listed.has(name)))
}

/** Google writes `models/`; Ollama leaves out `:latest`. */
const namesOf = (name: unknown): ReadonlyArray<string> =>
  typeof name === "string" ? [name.replace(/^models\//, "").replace(/:latest$/, "")] : []
