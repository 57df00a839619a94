/**
 * What hosts of some models take, where that differs from what the protocols of their provider write: the vendor's own
 * table, with a source for each row. It is applied when the catalogue is made, to hosts of every source, so that
 * routing, listings and protocols read one record of a host. Pure.
 */
import type { ToolChoiceSupport } from "../request/request.ts"
import { baseModelOf, type Host } from "./Host.ts"

export interface ModelLimits {
  /**
   * Which models, by the vendor's own name of them (`baseModelOf`). All rows that fit a host hold for it, in their
   * order.
   */
  readonly models: RegExp
  /** Where it is said, and when that was read: a page of the vendor, or reports of refusals. */
  readonly source: string
  /**
   * The name to call the host with instead, as a replacement of `String.replace`. Ignored if the host has a
   * `base_model`.
   */
  readonly model?: string
  /** Whether such a name says nothing of the model behind it, so that the operator has to (`base_model`). */
  readonly isAlias?: true
  /** The only protocol by which they can be called. The `api` of the configuration wins. */
  readonly api?: string
  /** `false`: with tools they answer as a whole only. */
  readonly streamsTools?: false
  /** The kinds of `tool_choice` that they refuse. */
  readonly toolChoice?: { readonly [Kind in keyof ToolChoiceSupport]?: false }
  /** Parameters that they refuse, by their names in the chat format: `stop`. */
  readonly lacks?: ReadonlyArray<string>
  /**
   * Tokens of an answer, where lists of models have no number or another one. It does not change what an operator
   * wrote.
   */
  readonly maxCompletionTokens?: number
}

/** `isListed`: the host is of the vendor's list of models, and not an operator's. */
export const withLimits = (
  host: Host,
  rows: ReadonlyArray<ModelLimits>,
  { isListed, hasApi }: { readonly isListed: boolean; readonly hasApi: boolean },
): Host => {
  const name = baseModelOf(host)
  // `search` ignores the state that a pattern with a flag `g` has.
  const fitting = rows.filter(({ models }) => name.search(models) !== -1)
  return fitting.reduce((limited, row) => withRow(limited, row, isListed, hasApi), host)
}

const withRow = (host: Host, row: ModelLimits, isListed: boolean, hasApi: boolean): Host => {
  const { models, model, isAlias, api, streamsTools, toolChoice, lacks, maxCompletionTokens } = row
  const { supportedParameters, lacks: before = [] } = host
  return {
    ...host,
    ...(model === undefined || host.baseModel !== undefined
      ? {}
      : { upstreamModel: host.upstreamModel.replace(models, model) }),
    ...(isAlias === undefined || host.baseModel !== undefined ? {} : { isAlias }),
    ...(api === undefined || host.api !== undefined || hasApi ? {} : { api }),
    ...(streamsTools === undefined ? {} : { streamsTools }),
    ...(toolChoice === undefined ? {} : { supportsToolChoice: { ...host.supportsToolChoice, ...toolChoice } }),
    ...(lacks === undefined
      ? {}
      : {
          supportedParameters: supportedParameters.filter((name) => !lacks.includes(name)),
          lacks: [...before, ...lacks],
        }),
    ...(maxCompletionTokens === undefined || !isListed ? {} : { maxCompletionTokens }),
  }
}
