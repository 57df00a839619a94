/** Resolves a model's name in a request: an id, an alias, or a bare slug that only one model has. */
import * as Either from "effect/Either"
import { BadRequest } from "../domain/Failure.ts"
import type { Model } from "../domain/Host.ts"
import { areCompatible, type Variant, variants, type WantedModel } from "../domain/variants.ts"

const none: ReadonlyArray<Variant> = []

/** Every name without a variant. */
export type ModelNames = ReadonlyMap<string, WantedModel>

/** Aliases of unknown models are ignored. */
export const modelNames = (models: ReadonlyArray<Model>, aliases: ReadonlyMap<string, string>): ModelNames => {
  const names = new Map<string, WantedModel>(models.map((model) => [model.id, { model, variants: none }]))
  const slugs = Map.groupBy(models, (model) => model.id.slice(model.id.indexOf("/") + 1))
  for (const [slug, owners] of slugs) {
    const [owner, another] = owners
    if (owner !== undefined && another === undefined && !names.has(slug))
      names.set(slug, { model: owner, variants: none })
  }
  const further = Map.groupBy(
    models.flatMap((model) => namesBeside(model).map((name) => ({ name, model }))),
    ({ name }) => name,
  )
  for (const [name, [owner, another]] of further) {
    if (owner !== undefined && another === undefined && !names.has(name))
      names.set(name, { model: owner.model, variants: none })
  }
  for (const [alias, id] of aliases) {
    const resolved = names.get(id)
    if (resolved !== undefined) names.set(alias, resolved)
  }
  return names
}

/** Its canonical slug, and its aliases with the author and without. Each counts where no other model has it. */
const namesBeside = ({ id, canonicalSlug, aliases = [] }: Model): ReadonlyArray<string> => {
  const author = id.slice(0, id.indexOf("/") + 1)
  return [
    ...new Set([
      ...(canonicalSlug == null ? [] : [canonicalSlug]),
      ...aliases.flatMap((name) => [name, author + name]),
    ]),
  ]
}

/** Fails with similar names. */
export const resolveName = (
  name: string,
  names: ModelNames,
  models: ReadonlyArray<Model>,
): Either.Either<WantedModel, BadRequest> => {
  const resolved = names.get(name) ?? withVariants(name, names)
  return resolved === undefined ? Either.left(unknownModel(name, models)) : Either.right(resolved)
}

/** A name with suffixes. A suffix that is part of an id, such as the `:free` of a model of its own, is no variant. */
const withVariants = (name: string, names: ModelNames): WantedModel | undefined => {
  const written: Array<Variant> = []
  let base = name
  while (written.length < variants.length) {
    const colon = base.lastIndexOf(":")
    const suffix = base.slice(colon + 1)
    const variant = variants.find((known) => known === suffix)
    if (colon < 0 || variant === undefined) return undefined
    written.unshift(variant)
    base = base.slice(0, colon)
    const found = names.get(base)
    if (found !== undefined) return areCompatible(written) ? { model: found.model, variants: written } : undefined
  }
  return undefined
}

const unknownModel = (name: string, models: ReadonlyArray<Model>): BadRequest => {
  const shown = name.length > 128 ? `${name.slice(0, 128)}...` : name
  const near = nearModels(name, models)
  const hint = near.length === 0 ? "" : ` (near: ${near.join(", ")})`
  return new BadRequest({
    kind: "model_not_found",
    models: [name],
    issues: [{ path: "model", message: `${JSON.stringify(shown)} is not a valid model ID${hint}` }],
  })
}

/** Up to three ids that share the most letter triples with a name: a missing author or date leaves most of them. */
export const nearModels = (name: string, models: ReadonlyArray<{ readonly id: string }>): ReadonlyArray<string> => {
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
