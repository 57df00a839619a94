/**
 * The description of the data plane, in the document of the control plane. Requests are described by the tables that decode them;
 * answers and examples by the files here, one for each form. Only the control plane loads them.
 */
import type { JsonSchema } from "../../domain/json/checks.ts"
import { isJsonObject, type JsonObject } from "../../domain/json/json.ts"
import type { FormName } from "../../domain/request/forms.ts"
import { chatPaths } from "./chat.ts"
import { completionsPaths } from "./completions.ts"
import { embeddingsPaths } from "./embeddings.ts"
import { explainPaths } from "./explain.ts"
import {
  batchEmbedContentsPaths,
  embedContentPaths,
  generateContentPaths,
  googleModelsOperations,
} from "./generateContent.ts"
import { mapped } from "./mapped.ts"
import { messagesPaths } from "./messages.ts"
import type { Paths } from "./operation.ts"
import { rerankPaths } from "./rerank.ts"
import { compactPaths, responsesPaths } from "./responses.ts"

/** A form that is missing here does not compile. */
const pathsOfForms: Readonly<Record<FormName, Paths>> = {
  chat: chatPaths,
  completions: completionsPaths,
  messages: messagesPaths,
  responses: responsesPaths,
  compact: compactPaths,
  generateContent: generateContentPaths,
  embedContent: embedContentPaths,
  batchEmbedContents: batchEmbedContentsPaths,
  embeddings: embeddingsPaths,
  rerank: rerankPaths,
}

const dataPaths: Paths = Object.assign({}, ...Object.values(pathsOfForms), explainPaths, googleModelsOperations)

/** The document with the data plane in it. */
export const withDataPlane = (document: JsonObject): JsonObject => {
  const { paths, components, tags } = document
  const { schemas, ...others } = isJsonObject(components) ? components : {}
  const titled = new TitledSchemas()
  const described = titled.outside(dataPaths)
  return {
    ...document,
    paths: Object.assign({}, described, paths),
    components: { ...others, schemas: Object.assign({}, schemas, titled.components()) },
    tags: [{ name: "inference" }, ...(Array.isArray(tags) ? tags : [])],
  }
}

/** Takes schemas with titles out of where they are used, and leaves references to them. */
class TitledSchemas {
  private readonly found = new Map<string, JsonSchema>()
  private readonly written: Record<string, unknown> = {}

  components(): JsonObject {
    return this.written
  }

  /** Whatever has schemas in members of the name `schema`. What examples say is left as it is. */
  outside(value: unknown): unknown {
    if (!isJsonObject(value)) return Array.isArray(value) ? value.map((entry) => this.outside(entry)) : value
    return mapped(value, (inner, name) => {
      if (name === "example") return inner
      return name === "schema" ? this.within(inner) : this.outside(inner)
    })
  }

  private within(schema: unknown): unknown {
    if (!isJsonObject(schema)) return Array.isArray(schema) ? schema.map((entry) => this.within(entry)) : schema
    const { title, ...others } = schema
    // A member of an object may have this name too.
    if (typeof title !== "string") return mapped(schema, (inner) => this.within(inner))
    const earlier = this.found.get(title)
    if (earlier !== undefined && earlier !== schema) throw new Error(`two schemas have the title ${title}`)
    if (earlier === undefined) {
      this.found.set(title, schema)
      this.written[title] = mapped(others, (inner) => this.within(inner))
    }
    return { $ref: `#/components/schemas/${title}` }
  }
}

/** Puts a prefix in front of every path of a document. */
export const at = (prefix: string, document: JsonObject): JsonObject => {
  const { paths } = document
  if (prefix === "" || !isJsonObject(paths)) return document
  return { ...document, paths: Object.fromEntries(Object.entries(paths).map(([path, item]) => [prefix + path, item])) }
}
