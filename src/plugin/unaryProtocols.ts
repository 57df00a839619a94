/**
 * The protocols of operations whose answer comes as a whole, one line each: as OpenAI and compatible hosts speak them. A vendor of which
 * `chatHost` has the facts deviates by the quirks.
 */
import {
  type UnaryAnswers,
  type UnaryName,
  type UnaryRequests,
  unaryNames,
  type unaryOperations,
} from "../domain/request/operations.ts"
import { embeddingsProtocol } from "../formats/embeddings/embeddingsHost.ts"
import type { UnaryProtocol } from "../formats/Protocol.ts"
import { rerankProtocol } from "../formats/rerank/rerankHost.ts"

const protocols = {
  embeddings: embeddingsProtocol,
  rerank: rerankProtocol,
}

/** By operation: how its hosts can deviate. */
export type QuirksByOperation = {
  readonly [Name in keyof typeof unaryOperations]: NonNullable<Parameters<(typeof protocols)[Name]>[0]>
}

/** By operation: how a provider calls the hosts of models that serve it. */
export type UnaryProtocols = {
  readonly [Name in keyof typeof unaryOperations]: UnaryProtocol<UnaryRequests[Name], UnaryAnswers[Name]>
}

/** An operation without a protocol does not compile. */
const makers: { readonly [Name in UnaryName]: (quirks: QuirksByOperation[Name]) => UnaryProtocols[Name] } = protocols

/** The protocols of a vendor's hosts. `quirks`: of the operations that they serve. */
export const unaryProtocolsFor = (quirks: Partial<QuirksByOperation>): Partial<UnaryProtocols> => {
  const made = <Name extends UnaryName>(name: Name) => {
    const own = quirks[name]
    return own === undefined ? [] : [[name, makers[name](own)]]
  }
  // Each is made by the function of the same operation.
  return Object.fromEntries(unaryNames.flatMap(made)) as Partial<UnaryProtocols>
}
