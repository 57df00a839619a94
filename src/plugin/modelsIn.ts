import type { ListedModel } from "../domain/hosts/ListedModel.ts"

/**
 * The models that a plugin keeps in a file of JSON: `models: modelsIn(new URL("./models.json", import.meta.url))`. It is read when
 * the provider is loaded.
 */
export const modelsIn = (file: URL) => (): Promise<ReadonlyArray<ListedModel>> => Bun.file(file).json()
