/**
 * Resolves a model's name in a request: an id, an alias, a bare slug, or what the author's own host calls the model.
 */
import * as Either from "effect/Either"
import { BadRequest } from "../domain/failures/Failure.ts"
import type { Model } from "../domain/hosts/Host.ts"
import { areCompatible, type Variant, variants, type WantedModel } from "../domain/routing/variants.ts"

const none: ReadonlyArray<Variant> = []

/** Every name without a variant. */
export class ModelNames extends Map<string, WantedModel> {
  /** Made once, when the first name is unknown. */
  private spellings: ReadonlyArray<Spelling> | undefined

  /** Ids of models with a name like this one. */
  near(name: string): ReadonlyArray<string> {
    this.spellings ??= Array.from(this, ([known, { model }]) => ({ id: model.id, triples: triples(known) }))
    return nearest(name, this.spellings)
  }
}

/**
 * Where a name means several things, the first of these counts: an alias of the configuration; an id; a bare slug; a
 * canonical slug or an alias of a model; a name by which the author's own host calls a model. A name that two models
 * share on one level means neither of them, on that level and those below. Aliases of unknown models are ignored.
 */
export const modelNames = (models: ReadonlyArray<Model>, aliases: ReadonlyMap<string, string>): ModelNames => {
  const names = new ModelNames(models.map((model) => [model.id, { model, variants: none }]))
  const ambiguous = new Set<string>()
  for (const namesOf of [bareSlug, declaredNames, authorsNames]) {
    const claims = new Map<string, Model | null>()
    for (const model of models) {
      for (const name of namesOf(model)) {
        const other = claims.get(name)
        claims.set(name, other === undefined || other === model ? model : null)
      }
    }
    for (const [name, model] of claims) {
      if (model === null) ambiguous.add(name)
      else if (!ambiguous.has(name) && !names.has(name)) names.set(name, { model, variants: none })
    }
  }
  for (const [alias, id] of aliases) {
    const resolved = names.get(id)
    if (resolved !== undefined) names.set(alias, resolved)
  }
  return names
}

const bareSlug = ({ id }: Model): ReadonlyArray<string> => [id.slice(id.indexOf("/") + 1)]

const withAuthor = (id: string, name: string): ReadonlyArray<string> => [name, id.slice(0, id.indexOf("/") + 1) + name]

/** The canonical slug, and the aliases with the author and without. */
const declaredNames = ({ id, canonicalSlug, aliases = [] }: Model): ReadonlyArray<string> => [
  ...(canonicalSlug == null ? [] : [canonicalSlug]),
  ...aliases.flatMap((name) => withAuthor(id, name)),
]

/**
 * What hosts of the model's author call it, with the author and without. A name that ends like a variant is none:
 * `name:free` asks for the free hosts of `name`.
 */
const authorsNames = ({ id, hosts }: Model): ReadonlyArray<string> =>
  hosts
    .filter(({ isAuthors, upstreamModel }) => isAuthors === true && !endsLikeVariant(upstreamModel))
    .flatMap(({ upstreamModel }) => (upstreamModel.includes("/") ? [upstreamModel] : withAuthor(id, upstreamModel)))

const endsLikeVariant = (name: string): boolean => variants.some((variant) => name.endsWith(`:${variant}`))

/** Fails with similar names. */
export const resolveName = (name: string, names: ModelNames): Either.Either<WantedModel, BadRequest> => {
  const resolved = names.get(name) ?? withVariants(name, names) ?? withoutWindow(name, names)
  return resolved === undefined ? Either.left(unknownModel(name, names)) : Either.right(resolved)
}

/**
 * A name without `[1m]`, Claude Code's mark for a window of a million tokens. Claude Code removes the mark from most
 * requests itself. Requests that judge an action in auto mode keep it (Wei-Shaw/sub2api#4505, 2026-07). The length of a
 * prompt is bounded by the host's context.
 */
const withoutWindow = (name: string, names: ModelNames): WantedModel | undefined => {
  const base = name.replace(/\[1m\]$/i, "")
  return base === name ? undefined : (names.get(base) ?? withVariants(base, names) ?? withoutWindow(base, names))
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

const unknownModel = (name: string, names: ModelNames): BadRequest => {
  const shown = name.length > 128 ? `${name.slice(0, 128)}...` : name
  const near = names.near(name)
  const hint = near.length === 0 ? "" : ` (near: ${near.join(", ")})`
  return new BadRequest({
    kind: "model_not_found",
    models: [name],
    issues: [{ path: "model", message: `${JSON.stringify(shown)} is not a valid model ID${hint}` }],
  })
}

/** Up to three ids that share the most letter triples with a name: a missing author or date leaves most of them. */
export const nearModels = (name: string, models: ReadonlyArray<{ readonly id: string }>): ReadonlyArray<string> =>
  nearest(
    name,
    models.map(({ id }) => ({ id, triples: triples(id) })),
  )

/** How a model may be written. */
interface Spelling {
  readonly id: string
  readonly triples: ReadonlySet<string>
}

const nearest = (name: string, spellings: ReadonlyArray<Spelling>): ReadonlyArray<string> => {
  const wanted = triples(name.slice(0, 128))
  const best = new Map<string, number>()
  for (const { id, triples: own } of spellings) {
    let shared = 0
    for (const triple of wanted) if (own.has(triple)) shared += 1
    const likeness = (2 * shared) / (wanted.size + own.size)
    if (likeness > Math.max(0.3, best.get(id) ?? 0)) best.set(id, likeness)
  }
  return [...best]
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, 3)
    .map(([id]) => id)
}

const triples = (text: string): ReadonlySet<string> => {
  const lower = text.toLowerCase()
  return new Set(Array.from({ length: Math.max(0, lower.length - 2) }, (_, at) => lower.slice(at, at + 3)))
}
