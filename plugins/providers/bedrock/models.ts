/** The models that can be called from a region. */
import { type ListedModel, modelsIn } from "headgate/plugin"

const all = modelsIn(new URL("./models.json", import.meta.url))

/**
 * Regions of the inference profiles whose ids begin with the profile's name. From "Supported Regions and models for inference
 * profiles" of AWS's documentation, read in 2026-11. `global` profiles and bare ids are left in everywhere.
 */
const regionsOf: Readonly<Record<string, RegExp>> = {
  us: /^(us|ca)-/,
  eu: /^eu-/,
  au: /^ap-southeast-(2|4)$/,
  jp: /^ap-northeast-(1|3)$/,
}

const isCalledFrom = (region: string, model: string | null | undefined): boolean =>
  regionsOf[model?.split(".", 1)[0] ?? ""]?.test(region) ?? true

/** A host whose profile belongs to other regions would answer that its id is invalid. */
export const modelsOf = async (region: string): Promise<ReadonlyArray<ListedModel>> => {
  const models: Array<ListedModel> = []
  for (const { hosts = [], ...model } of await all()) {
    const near = hosts.filter((host) => isCalledFrom(region, host.model))
    if (near.length > 0) models.push({ ...model, hosts: near })
  }
  return models
}
