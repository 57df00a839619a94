/**
 * Catalogues as files: the models of several providers, each list in the form that plugins have (`ListedModel`). Read from text,
 * checked as a whole, written so that a difference shows line by line. Pure.
 */
import * as Either from "effect/Either"
import { isJsonObject, type JsonObject } from "../domain/json/json.ts"
import { kindOf, type Problem, renderPath } from "../domain/json/Problem.ts"
import { byProvider, isByModel, shapeProblems } from "./byModel.ts"
import { decodeModels, type ProviderFacts, servedBy } from "./models.ts"
import { isSlug } from "./schema.ts"

/** Entries in the form of `ListedModel`, by the slug of the provider that brings them. */
export type Catalogue = ReadonlyMap<string, ReadonlyArray<unknown>>

/**
 * Reads `{ "format": 1, "providers": { "<slug>": [models] } }`, or a catalogue by model (`byModel.ts`). Whether the models are
 * right is for `problemsIn` to say.
 */
export const readCatalogue = (raw: unknown): Either.Either<Catalogue, ReadonlyArray<Problem>> => {
  if (!isJsonObject(raw)) return wrong("", `expected an object, got ${kindOf(raw)}`)
  if (raw["format"] !== 1) return wrong("format", `expected 1, got ${kindOf(raw["format"])}`)
  if (isByModel(raw)) {
    const problems = shapeProblems(raw)
    return problems.length > 0 ? Either.left(problems) : Either.right(byProvider(raw))
  }
  const { providers } = raw
  if (!isJsonObject(providers)) return wrong("providers", `expected an object, got ${kindOf(providers)}`)
  return listsOf(providers)
}

const wrong = (path: string, message: string) => Either.left([{ path, message }])

const listsOf = (providers: JsonObject): Either.Either<Catalogue, ReadonlyArray<Problem>> => {
  const lists = new Map<string, ReadonlyArray<unknown>>()
  const problems: Array<Problem> = []
  for (const [slug, list] of Object.entries(providers)) {
    const path = renderPath(["providers", slug])
    if (!isSlug(slug)) problems.push({ path, message: 'expected a slug of a-z, 0-9, ".", "_" and "-"' })
    else if (Array.isArray(list)) lists.set(slug, list)
    else problems.push({ path, message: `expected a list of models, got ${kindOf(list)}` })
  }
  return problems.length > 0 ? Either.left(problems) : Either.right(lists)
}

/** What is wrong with its models. */
export const problemsIn = (catalogue: Catalogue): ReadonlyArray<Problem> =>
  Array.from(catalogue).flatMap(
    ([slug, list]) => decodeModels(servedBy(list, slug), new Map([[slug, anyFacts]]), ["providers", slug]).problems,
  )

const anyFacts: ProviderFacts = { name: "", privacy: { mayTrain: true, retainsPrompts: true }, local: false }

/** JSON with a line for each model. */
export const writtenList = (list: ReadonlyArray<unknown>): string =>
  list.length === 0 ? "[]\n" : `[\n${list.map((model) => JSON.stringify(model)).join(",\n")}\n]\n`

export const writtenCatalogue = (catalogue: Catalogue): string => {
  const lists = Array.from(catalogue, ([slug, list]) => `${JSON.stringify(slug)}:${writtenList(list).trimEnd()}`)
  return `{"format":1,"providers":{\n${lists.join(",\n")}\n}}\n`
}
