/** Embeddings as OpenAI and compatible hosts speak them: `POST /embeddings`. */
import { Unsupported } from "../../domain/failures/Failure.ts"
import { baseModelOf, type Host } from "../../domain/hosts/Host.ts"
import { hostFacts, maySupport } from "../../domain/hosts/hostFacts.ts"
import { type EmbeddingsPayload, embeddings } from "../../domain/request/embeddings.ts"
import type { EmbeddingsProtocol } from "../Protocol.ts"
import { type UnaryQuirks, unaryProtocol } from "../unaryProtocol.ts"
import { readVectors } from "./embeddingsAnswer.ts"
import { writtenInput } from "./embeddingsRequest.ts"

export interface EmbeddingsQuirks extends UnaryQuirks {
  /** The host refuses what OpenAI's own API does not have: `input_type`, and inputs that are no text. Default false. */
  readonly strict?: boolean
  /** Further members of a request that the host refuses. `model` and `input` are always sent. */
  readonly drop?: ReadonlyArray<string>
  /** The host's own names of members: `{ dimensions: "output_dimension" }`. */
  readonly names?: Readonly<Record<string, string>>
  /** Below the base URL. Default `/embeddings`. */
  readonly path?: (upstreamModel: string) => string
  /**
   * The host always sends its vectors as base64 of signed bytes, which become numbers. Default: numbers, or base64 of
   * what `output_dtype` asks for, else of what it looks like.
   */
  readonly signedBytes?: boolean
  /**
   * Whether to request base64 of float32 whatever the client wants, because it takes a third of the bytes of
   * decimals. The gateway converts the vectors. Default: requests what the client requests.
   */
  readonly base64?: boolean | ((host: Host) => boolean)
  /** As `UnaryProtocol.mostInputs`, for all models or by the host's own model name. */
  readonly mostInputs?: number | ((baseModel: string) => number)
}

/** The protocol with these quirks. */
export const embeddingsProtocol = (quirks: EmbeddingsQuirks = {}): EmbeddingsProtocol => {
  const { strict = false, drop = [], names = {}, path, signedBytes = false, base64 = false, mostInputs } = quirks
  const refused = strict ? ["input_type", ...drop] : drop
  return unaryProtocol(
    embeddings,
    { ...quirks, drop: refused },
    {
      path,
      names,
      ...(mostInputs !== undefined && {
        mostInputs: (host) => (typeof mostInputs === "number" ? mostInputs : mostInputs(baseModelOf(host))),
      }),
      write: (payload, host) => {
        const input = writtenInput(payload.input, strict)
        if (input instanceof Unsupported) return input
        const isAsked = (base64 === true || (base64 !== false && base64(host))) && givesFloats(payload, host)
        return isAsked ? { input, encoding_format: "base64" } : { input }
      },
      listed: "data",
      read: ({ data, ...answer }, payload) => ({ ...answer, data: readVectors(data, payload, signedBytes) }),
    },
  )
}

/**
 * Whether to request base64: the host supports it, and the vectors are floats. Other types are shorter as numbers,
 * and rarely come in bulk.
 */
const givesFloats = ({ output_dtype: kind }: EmbeddingsPayload, host: Host): boolean =>
  (kind == null || kind === "float") && maySupport(hostFacts(host), "encoding_format")
