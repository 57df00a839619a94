/** Finds entries of a key's lists that can never match anything, because hosts are compared by other names. */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type { ProviderRegistry } from "../../../catalogue/ProviderRegistry.ts"
import { isModelId } from "../../../catalogue/schema.ts"
import { BadRequest } from "../../../domain/failures/Failure.ts"
import type { Issue } from "../../../domain/json/checks.ts"
import { matches, type Permissions } from "../../../domain/keys/Permissions.ts"

type Registry = Pick<ProviderRegistry["Type"], "current" | "resolve">

/**
 * What to write instead of this entry of `allowed_models`; `undefined`: the entry matches a model, or may match one
 * that is configured later. Entries are compared with model ids, so an alias or a name with a variant never matches.
 */
const modelFault = (entry: string, registry: Registry): string | undefined => {
  if (entry.includes("*") || registry.current().models.some(({ id }) => matches(entry, id))) return undefined
  const named = registry.resolve(entry)
  const shown = JSON.stringify(entry)
  if (Either.isRight(named)) {
    const { model, variants } = named.right
    const what = variants.length === 0 ? "another name of a model" : "a model with a variant"
    return `${shown} is ${what} and would allow nothing: write ${JSON.stringify(model.id)}`
  }
  if (isModelId(entry)) return undefined
  return `${shown} is not a model id and would allow nothing: write an id such as "author/name", or a pattern such as "author/*"`
}

/** The same for `allowed_providers`, whose entries are slugs, host tags and display names. */
const providerFault = (entry: string, registry: Registry): string | undefined => {
  const { models, providers } = registry.current()
  if (entry.includes("*") || !models.some(({ id }) => matches(entry, id))) return undefined
  const isHost = providers.has(entry.slice(0, entry.indexOf("/")))
  return isHost ? undefined : `${JSON.stringify(entry)} is a model and would allow nothing: move it to allowed_models`
}

/** Fails with every entry that can never match, whatever is configured later. */
export const withoutDeadPatterns = (
  { allowedModels, allowedProviders }: Partial<Permissions>,
  registry: Registry,
): Effect.Effect<void, BadRequest> => {
  const issues = (path: string, entries: ReadonlyArray<string>, fault: typeof modelFault): ReadonlyArray<Issue> =>
    entries.flatMap((entry, at) => {
      const message = fault(entry, registry)
      return message === undefined ? [] : [{ path: `${path}[${at}]`, message }]
    })
  const [first, ...more] = [
    ...issues("allowed_models", allowedModels ?? [], modelFault),
    ...issues("allowed_providers", allowedProviders ?? [], providerFault),
  ]
  return first === undefined ? Effect.void : Effect.fail(new BadRequest({ issues: [first, ...more] }))
}
