/** The `data` of `POST /route/explain`. docs/routing.md describes it. */
import * as Schema from "effect/Schema"

const ExplainedAttempt = Schema.Struct({
  model: Schema.String,
  /** The tag of the host. */
  host: Schema.String,
  provider: Schema.String,
  /** From 1 on. */
  rank: Schema.Int,
  /** A decimal of USD; `null`: the host's price is unknown. */
  estimated_cost_usd: Schema.NullOr(Schema.String),
  /** The numbers that the strategy used; `null`: it does not explain itself. */
  why: Schema.Unknown,
  /** The label of the key that would be used, where the provider has several. */
  api_key: Schema.optionalWith(Schema.String, { exact: true }),
})

const ExcludedHost = Schema.Struct({
  model: Schema.String,
  host: Schema.String,
  by: Schema.String,
  reason: Schema.String,
})

/** As in an error body; with metadata where there are some. */
const ExplainedError = Schema.Struct(
  { code: Schema.Int, message: Schema.String },
  { key: Schema.String, value: Schema.Unknown },
)

/** The draw of the strategy, repeated with other seeds. */
const Draws = Schema.Struct({
  /** Fewer than were asked for, where they took more than two seconds. */
  count: Schema.Int,
  /** Most first. Every host that would be tried is in it. */
  shares: Schema.Array(
    Schema.Struct({
      model: Schema.String,
      host: Schema.String,
      /** How often it was the first one. */
      first: Schema.Int,
      /** The same, of 1. */
      share: Schema.Number,
    }),
  ),
})

export const Explanation = Schema.Struct({
  strategy: Schema.String,
  /** Of the random draws: the same one repeats the plan. */
  seed: Schema.Int,
  /** In the order in which they would be tried. */
  attempts: Schema.Array(ExplainedAttempt),
  excluded: Schema.Array(ExcludedHost),
  /** Members of the request that a host would not be sent, by its tag. */
  dropped_parameters: Schema.Record({ key: Schema.String, value: Schema.Array(Schema.String) }),
  /** Where `draws` asked for them. */
  draws: Schema.optionalWith(Draws, { exact: true }),
  /** What such a request would get now, where there is nothing to try. */
  error: Schema.optionalWith(ExplainedError, { exact: true }),
})
export type Explanation = typeof Explanation.Type
