/** Checks of how a provider serves operations whose answer comes as a whole, such as `Provider.embeddings`. */
import { isDeepStrictEqual } from "node:util"
import * as Either from "effect/Either"
import { HostFailed } from "../../domain/failures/Failure.ts"
import type { UnaryOperation } from "../../domain/request/Operation.ts"
import { type UnaryName, type UnaryRequests, unaryNames, unaryOperations } from "../../domain/request/operations.ts"
import { noPreferences } from "../../domain/request/Preferences.ts"
import { noNeeds, type UnaryRequest } from "../../domain/request/request.ts"
import type { EmbeddingsProtocol, Encoded } from "../../formats/Protocol.ts"
import type { RerankProtocol } from "../../formats/rerank/rerankHost.ts"
import { expectedOfEncoded, expectedOfUnary } from "../../plugin/checks/shapes.ts"
import type { UnaryProtocols } from "../../plugin/unaryProtocols.ts"
import { attempt, type Check, deepFreeze, must, shown } from "../Check.ts"
import { anyJson, forAll, head, host, noAnswers, publicModel, upstreamModel } from "../samples.ts"
import { type EmbeddingsSample, load, type ProviderSubject, type RerankSample } from "../subject.ts"
import { isCountedAs } from "./usage.ts"

export const unaryChecks = (subject: ProviderSubject): ReadonlyArray<Check> => {
  const provider = loaded(subject)
  const checksFor = <Name extends UnaryName>(name: Name): ReadonlyArray<Check> => {
    const protocol = provider[name]
    if (protocol === undefined) return []
    const recorded = recordedBy[name]?.(provider, subject) ?? []
    return [
      ...checksOf(name, protocol),
      ...recorded.map((run, at) => ({ name: `${name}: sample ${at + 1} comes to what is expected`, run })),
    ]
  }
  return unaryNames.flatMap(checksFor)
}

/** Nothing when it does not load, which another check reports. */
const loaded = (subject: ProviderSubject): Partial<UnaryProtocols> => {
  try {
    return load(subject)
  } catch {
    return {}
  }
}

/** Checks of the vendor's recorded answers, for operations of which a subject may have some. */
const recordedBy: Partial<
  Record<UnaryName, (provider: Partial<UnaryProtocols>, subject: ProviderSubject) => ReadonlyArray<Check["run"]>>
> = {
  embeddings: ({ embeddings }, { embeddings: samples = [] }) =>
    embeddings === undefined ? [] : samples.map((sample) => () => vectorsOf(embeddings, sample)),
  rerank: ({ rerank }, { rerank: samples = [] }) =>
    rerank === undefined ? [] : samples.map((sample) => () => scoresOf(rerank, sample)),
}

const sampleOf = <Name extends UnaryName>(operation: Name): UnaryRequests[Name] => {
  const request: UnaryRequest<UnaryName> = deepFreeze({
    operation,
    routing: { models: [publicModel], preferences: noPreferences, parameters: [], needs: noNeeds },
    bounds: {
      ...{ promptBytes: 100, mediaBytes: 0, mediaParts: 0, textBytes: 40, longestBytes: 20, messages: 2, images: 0 },
      ...{ searches: 0, maxTokens: 0, choices: 1 },
    },
    stream: false,
    maxTokens: 0,
    payload: unaryOperations[operation].sample,
  })
  // The sample is of the operation's own type.
  return request as UnaryRequests[Name]
}

const vectorsOf = (protocol: EmbeddingsProtocol, { body, expects }: EmbeddingsSample): void => {
  const answer = protocol.decode(head, body, sampleOf("embeddings"))
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
  const answer = protocol.decode(head, body, sampleOf("rerank"))
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
const sendsMember = <Request>(
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

const checksOf = <Name extends UnaryName>(name: Name, protocol: UnaryProtocols[Name]): ReadonlyArray<Check> => {
  const request = sampleOf(name)
  const operation: UnaryOperation = unaryOperations[name]
  const expectedOf = (answer: unknown) => expectedOfUnary(operation, answer, request.payload)
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
        for (const [member, value] of Object.entries(operation.optional)) {
          const full = { ...request, payload: { ...request.payload, [member]: value } }
          sendsMember(
            (each: UnaryRequests[Name]) => protocol.encode(each, host),
            { plain: request, full, name: member },
            contract,
          )
        }
      },
    },
    {
      name: `${name}: decode() never throws and never gives half an answer`,
      run: () =>
        forAll(anyJson, (body) => {
          const answer = decoded(body)
          const expected = answer instanceof HostFailed ? undefined : expectedOf(answer)
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
