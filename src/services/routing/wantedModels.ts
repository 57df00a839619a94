/** The models that a request names. */
import * as Either from "effect/Either"
import type { ModelNames } from "../../catalogue/ProviderRegistry.ts"
import { BadRequest } from "../../domain/failures/Failure.ts"
import { modelFacts } from "../../domain/hosts/hostFacts.ts"
import { isUnaryName, type OperationName, operationOf, operations } from "../../domain/request/operations.ts"
import { searchesTheWeb } from "../../domain/routing/routeFilters.ts"
import type { WantedModel } from "../../domain/routing/variants.ts"

/** Each once, in the order of their names. Fails where one is unknown, or cannot be asked for in this way. */
export const wantedModels = (
  operation: OperationName,
  names: ReadonlyArray<string>,
  registry: ModelNames,
): Either.Either<ReadonlyArray<WantedModel>, BadRequest> => {
  const models: Array<WantedModel> = []
  for (const name of names) {
    const resolved = registry.resolve(name)
    if (Either.isLeft(resolved)) return Either.left(aboutAll(resolved.left, names))
    const wanted = resolved.right
    const fault = misuse(operation, name, wanted, names)
    if (fault !== undefined) return Either.left(fault)
    if (!isAmong(models, wanted)) models.push(wanted)
  }
  return Either.right(models)
}

/** The fault of one name, with all the names that were asked for. */
const aboutAll = ({ issues }: BadRequest, models: ReadonlyArray<string>): BadRequest =>
  new BadRequest({ kind: "model_not_found", issues, models })

const isAmong = (models: ReadonlyArray<WantedModel>, { model, variants }: WantedModel): boolean =>
  models.some((one) => one.model === model && one.variants.join() === variants.join())

const chatVariants = ["thinking", "online"] as const

/** Why a model cannot be asked for in this way at all. */
const misuse = (
  operation: OperationName,
  name: string,
  { model, variants }: WantedModel,
  models: ReadonlyArray<string>,
) => {
  if (operationOf(model.architecture) !== operation) {
    const gives = model.architecture.outputModalities.join(", ")
    const message = `${JSON.stringify(name)} gives ${gives}, so ${operations[operation].inability}`
    return new BadRequest({ kind: "wrong_endpoint", models, issues: [{ path: "model", message }] })
  }
  const chatting = isUnaryName(operation) ? chatVariants.find((variant) => variants.includes(variant)) : undefined
  if (chatting !== undefined) {
    const message = `${JSON.stringify(name)} has the variant ${chatting}, which only a chat can have`
    return new BadRequest({ issues: [{ path: "model", message }] })
  }
  if (variants.includes("online") && !modelFacts(model).hosts.some(searchesTheWeb)) {
    const message = `${JSON.stringify(name)} needs a host with a web search of its own, and ${model.id} has none`
    return new BadRequest({ issues: [{ path: "model", message }] })
  }
  return undefined
}
