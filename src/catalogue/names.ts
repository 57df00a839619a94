/** Resolves a model's name in a request: an id, an alias, or a bare slug that only one model has. */
import * as Either from "effect/Either"
import { BadRequest } from "../domain/Failure.ts"
import type { Model } from "../domain/Host.ts"

/** Suffixes of a model's id that select a way to serve it, unless the catalogue has a model with exactly that id. */
const variants = ["nitro", "floor", "free", "exacto", "extended", "thinking", "online"] as const

type Variant = (typeof variants)[number]

export interface ResolvedModel {
  readonly model: Model
  /**
   * The suffix after the colon, when it is not part of the model's id. A request whose variant is not supported must be
   * refused.
   */
  readonly variant: Variant | null
}

/** Every name without a variant. */
export type ModelNames = ReadonlyMap<string, ResolvedModel>

/** Aliases of unknown models are ignored. */
export const modelNames = (models: ReadonlyArray<Model>, aliases: ReadonlyMap<string, string>): ModelNames => {
  const names = new Map<string, ResolvedModel>(models.map((model) => [model.id, { model, variant: null }]))
  const slugs = Map.groupBy(models, (model) => model.id.slice(model.id.indexOf("/") + 1))
  for (const [slug, owners] of slugs) {
    const [owner, another] = owners
    if (owner !== undefined && another === undefined && !names.has(slug))
      names.set(slug, { model: owner, variant: null })
  }
  for (const [alias, id] of aliases) {
    const resolved = names.get(id)
    if (resolved !== undefined) names.set(alias, resolved)
  }
  return names
}

/** Fails with similar names. */
export const resolveName = (
  name: string,
  names: ModelNames,
  models: ReadonlyArray<Model>,
): Either.Either<ResolvedModel, BadRequest> => {
  const resolved = names.get(name) ?? withVariant(name, names)
  return resolved === undefined ? Either.left(unknownModel(name, models)) : Either.right(resolved)
}

const withVariant = (name: string, names: ModelNames): ResolvedModel | undefined => {
  const colon = name.lastIndexOf(":")
  const variant = variants.find((known) => known === name.slice(colon + 1))
  const base = colon < 0 || variant === undefined ? undefined : names.get(name.slice(0, colon))
  return base === undefined || variant === undefined ? undefined : { model: base.model, variant }
}

const unknownModel = (name: string, models: ReadonlyArray<Model>): BadRequest => {
  const shown = name.length > 128 ? `${name.slice(0, 128)}...` : name
  const near = nearModels(name, models)
  const hint = near.length === 0 ? "" : ` (near: ${near.join(", ")})`
  return new BadRequest({
    issues: [{ path: "model", message: `${JSON.stringify(shown)} is not a valid model ID${hint}` }],
  })
}

/** Up to three ids that share the most letter triples with a name: a missing author or date leaves most of them. */
export const nearModels = (name: string, models: ReadonlyArray<Model>): ReadonlyArray<string> => {
  const wanted = triples(name.slice(0, 128))
  return models
    .map((model) => {
      const own = triples(model.id)
      const shared = [...wanted].filter((triple) => own.has(triple)).length
      return { id: model.id, likeness: (2 * shared) / (wanted.size + own.size) }
    })
    .filter(({ likeness }) => likeness > 0.3)
    .toSorted((a, b) => b.likeness - a.likeness)
    .slice(0, 3)
    .map(({ id }) => id)
}

const triples = (text: string): ReadonlySet<string> => {
  const lower = text.toLowerCase()
  return new Set(Array.from({ length: Math.max(0, lower.length - 2) }, (_, at) => lower.slice(at, at + 3)))
}
