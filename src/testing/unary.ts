/** Checks of `Provider.embeddings` and `Provider.rerank`. */
import * as Either from "effect/Either"
import { inputsOf } from "../domain/Embeddings.ts"
import { HostFailed } from "../domain/Failure.ts"
import { noPreferences } from "../domain/Preferences.ts"
import { type EmbeddingsRequest, noNeeds, type RerankRequest } from "../domain/Request.ts"
import type { Provider } from "../plugin/Provider.ts"
import { expectedOfEmbeddings, expectedOfEncoded, expectedOfRanking } from "../plugin/shapes.ts"
import type { UnaryProtocol } from "../wire/Protocol.ts"
import { attempt, type Check, deepFreeze, must, shown } from "./check.ts"
import { anyJson, forAll, head, host, noAnswers, publicModel, upstreamModel } from "./samples.ts"
import { load, type ProviderSubject } from "./subject.ts"

export const unaryChecks = (subject: ProviderSubject): ReadonlyArray<Check> => {
  const { embeddings, rerank } = loaded(subject)
  return [
    ...(embeddings === undefined ? [] : checksOf("embeddings", embeddings, embeddingsSample, expectedOfVectors)),
    ...(rerank === undefined ? [] : checksOf("rerank", rerank, rerankSample, expectedOfScores)),
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
