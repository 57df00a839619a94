/**
 * The model that a host says its answer is of, which may be another than the one that was asked for: a dated version, or what a router has
 * chosen. Pure.
 */
import { objectIn } from "../../domain/json/json.ts"
import { isModelName } from "../../domain/request/modelName.ts"

/** `json`: a whole answer, or an event of a stream. `undefined`: it does not say it, or what it says cannot be a name. */
export const modelSaid = (json: unknown): string | undefined => {
  const { model, modelVersion, message, response } = objectIn(json)
  return nameIn(model) ?? nameIn(modelVersion) ?? within(message) ?? within(response)
}

/** The first events of the Messages and the Responses form have the answer so far. */
const within = (answer: unknown): string | undefined => nameIn(objectIn(answer)["model"])

const nameIn = (value: unknown): string | undefined =>
  typeof value === "string" && isModelName(value) ? value : undefined
