/** What only the vendor's document tells: the kit shows what the plugin does, for comparison. */
import { isDeepStrictEqual } from "node:util"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Redacted from "effect/Redacted"
import { HostFailed } from "../../domain/failures/Failure.ts"
import { isOurs } from "../../formats/ownProtocols.ts"
import type { Provider } from "../../plugin/Provider.ts"
import { encodedBy, essence } from "../requests/encoding.ts"
import { isAboutStreams } from "../requests/meaning.ts"
import { sentIn } from "../requests/Sent.ts"
import { chatRequest, contextOf, head, host, marks, requestOf, temperature } from "../samples.ts"
import { sideAnswers, signerOf, someRequest } from "../signing/Signer.ts"
import { fetchingOf, secondsIn } from "../signing/tokens.ts"
import {
  isLacking,
  load,
  loadedAnew,
  ownConfig,
  type ProtocolSubject,
  type ProviderSubject,
  protocolSubjects,
  secretsOf,
} from "../subject.ts"
import type { NotCovered } from "./Row.ts"

const compare = "Compare with the vendor's document."

export const factsToCompare = async (subject: ProviderSubject): Promise<ReadonlyArray<NotCovered>> => {
  try {
    const own = protocolSubjects(subject).filter((given) => !isOurs(given.protocol()))
    return [
      ...own.flatMap(ofProtocol),
      ...(own.length === 0 ? [] : [ofPlugin(`the key goes into ${keyPlace(subject)}`, compare)]),
      ...(await ofTokens(subject)),
      ...(await ofFields(subject)),
    ]
  } catch {
    // Another check reports what is wrong.
    return []
  }
}

const ofPlugin = (what: string, how: string): NotCovered => ({ of: "plugin", what, how })

const keyPlace = ({ plugin: { auth } }: ProviderSubject): string => {
  if (auth?._tag === "Header") return `the header "${auth.name}"`
  return auth?._tag === "None" ? "no header" : 'the header "authorization", after "Bearer "'
}

const said = [{ role: "user", content: marks.last }] as const

const ofProtocol = (given: ProtocolSubject): ReadonlyArray<NotCovered> => {
  const row = (what: string): NotCovered => ({ of: given.name, what, how: compare })
  const rows: Array<NotCovered> = []
  const [plain, warm] = [{}, { temperature }].map((more) =>
    encodedBy(given, chatRequest(false, { messages: said, ...more })),
  )
  const streamed = encodedBy(given, chatRequest(true, { messages: said }))
  if (plain !== undefined && warm !== undefined && Either.isRight(plain) && Either.isRight(warm)) {
    const { method = "POST", path } = plain.right
    rows.push(row(`a whole answer is asked for with ${method} ${path}`))
    // No word of them tells which is which.
    if (Either.isRight(streamed) && streamed.right.path !== path && !isAboutStreams(streamed.right))
      rows.push(row(`a stream is asked for with ${streamed.right.method ?? "POST"} ${streamed.right.path}`))
    const isScaled = !(warm.right.dropped ?? []).includes("temperature") && !sentIn(warm.right).hasNumber(temperature)
    if (isScaled) rows.push(row(`the temperature ${temperature} is sent as ${newNumbers(plain.right, warm.right)}`))
  }
  const words = finishWords(given)
  if (words.length > 0)
    rows.push(row(`words of the host for how an answer ended, as samples have them: ${words.join(", ")}`))
  return rows
}

type Sent = Parameters<typeof sentIn>[0]

const newNumbers = (plain: Sent, warm: Sent): string => {
  const before = numbersIn(sentIn(plain).json)
  return numbersIn(sentIn(warm).json)
    .filter((number) => !before.includes(number))
    .join(", ")
}

const numbersIn = (value: unknown): ReadonlyArray<number> => {
  if (typeof value === "number") return [value]
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(numbersIn) : []
}

/** `STOP` is `stop`, for each pair in a sample of a whole answer. */
const finishWords = (given: ProtocolSubject): ReadonlyArray<string> => {
  const words = given.answers.flatMap(({ body }) => {
    const answer = given.protocol().decode(head, body, contextOf(false))
    if (answer instanceof HostFailed) return []
    return answer.choices.map(({ native_finish_reason: native, finish_reason: reason }) => `${native} is ${reason}`)
  })
  return [...new Set(words)]
}

const ofTokens = async (subject: ProviderSubject): Promise<ReadonlyArray<NotCovered>> => {
  if (load(subject).sign === undefined) return []
  const fetching = await fetchingOf(subject)
  if (fetching === undefined || isLacking(subject, "token expiry")) return []
  return fetching.answers.some((answer) => secondsIn(answer) !== undefined)
    ? []
    : [
        ofPlugin(
          "whether a token is fetched again when it has expired: the given `answer` does not say when that is",
          'Let `answer` say it, as the vendor does (`expires_in`). Where tokens do not end: `lacks: ["token expiry"]`.',
        ),
      ]
}

/** Fields of the configuration that make no difference to what the kit sees. */
const ofFields = async (subject: ProviderSubject): Promise<ReadonlyArray<NotCovered>> => {
  const own = ownConfig(subject)
  const secrets = secretsOf(subject)
  const before = await seenOf(subject)
  const idle: Array<string> = []
  for (const [name, value] of Object.entries(own)) {
    if (typeof value !== "string" || secrets.includes(value)) continue
    const changed = { ...subject, config: { ...subject.config, [name]: `${value}x` } }
    try {
      if (isDeepStrictEqual(before, await seenOf(changed))) idle.push(name)
    } catch {
      // Another value is not accepted.
    }
  }
  return idle.length === 0
    ? []
    : [
        ofPlugin(
          `fields of the configuration that change neither address nor request: ${idle.join(", ")}`,
          "See that each of them is used.",
        ),
      ]
}

const seenOf = async (subject: ProviderSubject) => {
  const provider: Provider = await loadedAnew(subject)
  const { baseUrl, credentials = {}, protocols, sign } = provider
  const asked: Array<unknown> = []
  const vendor = sideAnswers(subject)
  const encoded = sign === undefined ? undefined : someRequest(subject)
  const signer = await signerOf(subject)
  const http: typeof vendor = (request) => {
    asked.push(request)
    return vendor(request)
  }
  return {
    signed: encoded === undefined ? undefined : Exit.getOrElse(await signer.run(encoded, { http }), () => undefined),
    asked,
    baseUrl,
    credentials: Object.values(credentials).map((secret) => Redacted.value(secret)),
    requests: Object.values(protocols).map(({ baseUrl: own, encode }) => {
      const encoded = encode(requestOf(false, { lacks: subject.lacks }), host)
      return [own, Either.isRight(encoded) ? essence(encoded.right) : undefined]
    }),
    models: await provider.models?.(),
  }
}
