/** `GET /v1beta/models` and `GET /v1beta/models/{model}`: the models that the lists of the key allow, as Google's clients read them. */
import { NotFound } from "../../domain/failures/Failure.ts"
import type { Model } from "../../domain/hosts/Host.ts"
import type { JsonObject } from "../../domain/json/json.ts"
import { forbiddenBy } from "../../domain/keys/Permissions.ts"
import { type RoutePath, routeName } from "../../domain/request/forms.ts"
import { generateContentErrorBody } from "../../formats/generateContent/generateContentError.ts"
import { requestIdHeaders } from "../headers.ts"
import { DataRequest, type DataRoute } from "./DataRequest.ts"

export const googleModelsRoute = (path: RoutePath): DataRoute => {
  const route: DataRoute = {
    ...{ name: routeName("GET", path), path, form: null, error: generateContentErrorBody, takesGoogleKeys: true },
    receive: (services, incoming) => new GoogleModels(services, route, incoming),
  }
  return route
}

class GoogleModels extends DataRequest<never> {
  protected override get isForAnyKey(): boolean {
    return true
  }

  /** It calls nobody. */
  protected override get isCounted(): boolean {
    return false
  }

  protected override withinLimits(): void {
    const { registry } = this.services
    const { target } = this
    const isAllowed = ({ hosts }: Model) => hosts.some((host) => forbiddenBy(this.key, host) === undefined)
    const models = registry.current().models.filter(isAllowed)
    const { parameter: id } = target
    const found = id === undefined ? undefined : models.find((model) => model.id === id || model.aliases?.includes(id))
    if (id !== undefined && found === undefined) {
      this.fail(new NotFound({ what: "This model" }))
      return
    }
    const body = found === undefined ? pageOf(models, (name) => target.inQuery(name)) : modelOf(found)
    this.succeed(this.answerJson(body, { headers: requestIdHeaders(this.served.requestId) }))
  }

  protected override admitted(): void {}
}

/** All of them, unless `pageSize` says how many. `pageToken`: the place of the first one. */
const pageOf = (models: ReadonlyArray<Model>, inQuery: (name: string) => string | undefined): JsonObject => {
  const numberOf = (name: string) => (/^\d{1,9}$/.test(inQuery(name) ?? "") ? Number(inQuery(name)) : 0)
  const [size, from] = [numberOf("pageSize") || models.length, numberOf("pageToken")]
  const next = from + size
  return {
    models: models.slice(from, next).map(modelOf),
    ...(next < models.length ? { nextPageToken: String(next) } : {}),
  }
}

const modelOf = ({ id, name, description, contextLength, hosts, architecture }: Model): JsonObject => {
  const makesVectors = architecture.outputModalities.includes("embeddings")
  return {
    name: `models/${id}`,
    version: id.split("/").at(-1),
    displayName: name,
    description,
    inputTokenLimit: contextLength,
    outputTokenLimit: Math.max(0, ...hosts.map(({ maxCompletionTokens }) => maxCompletionTokens)),
    supportedGenerationMethods: makesVectors
      ? ["embedContent", "batchEmbedContents"]
      : ["generateContent", "streamGenerateContent", "countTokens"],
  }
}
