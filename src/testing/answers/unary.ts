/** Checks of `Provider.embeddings` and `Provider.rerank`. */
import { isDeepStrictEqual } from "node:util"
import * as Either from "effect/Either"
import { HostFailed } from "../../domain/failures/Failure.ts"
import { inputsOf } from "../../domain/request/Embeddings.ts"
import { noPreferences } from "../../domain/request/Preferences.ts"
import { type EmbeddingsRequest, noNeeds, type RerankRequest } from "../../domain/request/Request.ts"
import { expectedOfEmbeddings, expectedOfEncoded, expectedOfRanking } from "../../plugin/checks/shapes.ts"
import type { Provider } from "../../plugin/Provider.ts"
import type { EmbeddingsProtocol, Encoded, RerankProtocol, UnaryProtocol } from "../../wire/Protocol.ts"
import { attempt, type Check, deepFreeze, must, shown } from "../check.ts"
import { anyJson, forAll, head, host, noAnswers, publicModel, upstreamModel } from "../samples.ts"
import { type EmbeddingsSample, load, type ProviderSubject, type RerankSample } from "../subject.ts"
import { isCountedAs } from "./usage.ts"

export const unaryChecks = (subject: ProviderSubject): ReadonlyArray<Check> => {
  const { embeddings, rerank } = loaded(subject)
  return [
    ...(embeddings === undefined
      ? []
      : [
          ...checksOf("embeddings", embeddings, embeddingsSample, expectedOfVectors),
          ...(subject.embeddings ?? []).map((sample, at) => ({
            name: `embeddings: sample ${at + 1} comes to what is expected`,
            run: () => vectorsOf(embeddings, sample),
          })),
        ]),
    ...(rerank === undefined
      ? []
      : [
          ...checksOf("rerank", rerank, rerankSample, expectedOfScores),
          ...(subject.rerank ?? []).map((sample, at) => ({
            name: `rerank: sample ${at + 1} comes to what is expected`,
            run: () => scoresOf(rerank, sample),
          })),
        ]),
  ]
}

/** Nothing when it does not load, which another check reports. */
const loaded = (subject: ProviderSubject): Pick<Provider, "embeddings" | "rerank"> => {
  try {
    return load(subject)
  } catch {
    return {}
  }
}

/** Members that a host may lack. */
const optionalMembers = {
  embeddings: { dimensions: 321, input_type: "search_query", user: "headgate-user" },
  rerank: { top_n: 1 },
} as const

const shared = {
  routing: { models: [publicModel], preferences: noPreferences, parameters: [], needs: noNeeds },
  bounds: {
    ...{ promptBytes: 100, mediaBytes: 0, mediaParts: 0, textBytes: 40, longestBytes: 20, messages: 2, images: 0 },
    ...{ searches: 0, maxTokens: 0, choices: 1 },
  },
  stream: false,
  maxTokens: 0,
} as const

const embeddingsSample: EmbeddingsRequest = deepFreeze({
  ...shared,
  operation: "embeddings",
  payload: { input: ["HEADGATE-FIRST", "HEADGATE-SECOND"] },
})

const rerankSample: RerankRequest = deepFreeze({
  ...shared,
  operation: "rerank",
  payload: { query: "HEADGATE-QUERY", documents: ["HEADGATE-FIRST", "HEADGATE-SECOND"] },
})

const expectedOfVectors = (answer: unknown, { payload }: EmbeddingsRequest) =>
  expectedOfEmbeddings(answer, inputsOf(payload.input).length)

const expectedOfScores = (answer: unknown, { payload }: RerankRequest) =>
  expectedOfRanking(answer, payload.documents.length)

const vectorsOf = (protocol: EmbeddingsProtocol, { body, expects }: EmbeddingsSample): void => {
  const answer = protocol.decode(head, body, embeddingsSample)
  must(!(answer instanceof HostFailed), "The sample is read as a failure", "EmbeddingsResponse")
  const vectors = answer.data.toSorted((a, b) => a.index - b.index).map(({ embedding }) => embedding)
  must(
    isDeepStrictEqual(vectors, [...expects.vectors]),
    `The vectors are ${shown(vectors)}, expected ${shown(expects.vectors)}`,
    "EmbeddingsResponse.data",
  )
  if (expects.counted !== undefined) isCountedAs(answer.usage, expects.counted, "The sample")
}

const scoresOf = (protocol: RerankProtocol, { body, expects }: RerankSample): void => {
  const answer = protocol.decode(head, body, rerankSample)
  must(!(answer instanceof HostFailed), "The sample is read as a failure", "RerankResponse")
  const scores = expects.scores.map(
    (_, at) => answer.results.find(({ index }) => index === at)?.relevance_score ?? null,
  )
  must(
    isDeepStrictEqual(scores, [...expects.scores]),
    `The scores are ${shown(scores)}, expected ${shown(expects.scores)}`,
    "RerankResponse.results",
  )
  if (expects.counted !== undefined) isCountedAs(answer.usage, expects.counted, "The sample")
}

/** Sends the request with a member and without it: what is sent differs, or `dropped` names the member. */
const sendsMember = <Request extends EmbeddingsRequest | RerankRequest>(
  encode: (request: Request) => Either.Either<Encoded, unknown>,
  { plain, full, name }: { readonly plain: Request; readonly full: Request; readonly name: string },
  contract: string,
): void => {
  const [without, encoded] = [encode(plain), encode(full)]
  if (Either.isLeft(encoded) || Either.isLeft(without)) return
  const said = ({ path, headers, body }: Encoded) => ({ path, headers, body })
  must(
    (encoded.right.dropped ?? []).includes(name) || !isDeepStrictEqual(said(without.right), said(encoded.right)),
    `encode() sends the same with and without ${name}, and does not name it in \`dropped\``,
    contract,
  )
}

const checksOf = <Request extends EmbeddingsRequest | RerankRequest, Answer>(
  name: string,
  protocol: UnaryProtocol<Request, Answer>,
  request: Request,
  expectedOf: (answer: unknown, request: Request) => string | undefined,
): ReadonlyArray<Check> => {
  const contract = `Provider.${name}`
  const decoded = (body: unknown): unknown =>
    attempt(
      () => `decode() of ${shown(body)}`,
      contract,
      () => protocol.decode(head, body, request),
    )
  return [
    {
      name: `${name}: encode() sends every text, and the host's own name of the model`,
      run: () => {
        const encoded = attempt("encode()", contract, () => protocol.encode(request, host))
        must(Either.isRight(encoded), "encode() refuses plain texts", contract)
        const expected = expectedOfEncoded(encoded.right)
        must(
          expected === undefined,
          () => `encode() gave ${shown(encoded.right)}; it must return ${expected}`,
          contract,
        )
        const { path, body } = encoded.right
        const sent = path + (typeof body === "string" ? body : new TextDecoder().decode(body))
        const texts = [upstreamModel, ...(JSON.stringify(request.payload).match(/HEADGATE-\w+/g) ?? [])]
        for (const text of texts) must(sent.includes(text), `encode() does not send ${text}`, contract)
        must(!sent.includes(publicModel), "encode() sends the caller's name of the model", contract)
      },
    },
    {
      name: `${name}: encode() sends every member, or says that it drops it`,
      run: () => {
        for (const [member, value] of Object.entries(optionalMembers[request.operation])) {
          const full = { ...request, payload: { ...request.payload, [member]: value } }
          sendsMember((each: Request) => protocol.encode(each, host), { plain: request, full, name: member }, contract)
        }
      },
    },
    {
      name: `${name}: decode() never throws and never gives half an answer`,
      run: () =>
        forAll(anyJson, (body) => {
          const answer = decoded(body)
          const expected = answer instanceof HostFailed ? undefined : expectedOf(answer, request)
          must(expected === undefined, () => `decode() gave ${shown(answer)}; it must return ${expected}`, contract)
        }),
    },
    {
      name: `${name}: decode() refuses what is no answer`,
      run: () => {
        for (const body of noAnswers) {
          const answer = decoded(body)
          must(answer instanceof HostFailed, `decode() takes ${shown(body)} for an answer: ${shown(answer)}`, contract)
        }
      },
    },
  ]
}
