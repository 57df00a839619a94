/** The `summary` of each operation in the OpenAPI document, which documentation pages and generated clients show as its title. */
import { isJsonObject, type JsonObject } from "../../domain/json/json.ts"

/** For operations without a description, by their ids. For others the summary is the description's first sentence. */
const summaries: Readonly<Record<string, string>> = {
  "keyStatus.authKey": "The calling key: its limits, and what it has spent",
  "keyStatus.key": "The calling key: its limits, and what it has spent",
  "models.count": "How many models there are",
  "models.hosts": "The hosts of a model, with prices and what was seen of them",
  "keys.list": "The keys, the newest first",
  "keys.create": "Make a key: it is shown this once",
  "keys.read": "One key",
  "keys.change": "Change a key",
  "keys.remove": "Delete a key, and end its running requests",
  "session.signIn": "Sign in with a key",
  "session.read": "Who calls, by session or by key",
  "session.signOut": "Sign out",
  "config.reload": "Read the configuration again, and put it in force",
  "health.healthz": "Whether the process answers",
  "health.readyz": "Whether requests are taken",
}

const withSummary = (operation: unknown): unknown => {
  if (!isJsonObject(operation) || "summary" in operation) return operation
  const { operationId, description } = operation
  const [sentence] = typeof description === "string" ? description.split(/(?<=\.)\s/) : []
  const summary = summaries[String(operationId)] ?? sentence?.replace(/\.$/, "")
  return summary === undefined ? operation : { summary, ...operation }
}

const withEach = (value: unknown, each: (inner: unknown) => unknown): unknown =>
  isJsonObject(value) ? Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, each(inner)])) : value

/** The document with a summary for every operation. */
export const withSummaries = (document: JsonObject): Record<string, unknown> => ({
  ...document,
  paths: withEach(document["paths"], (path) => withEach(path, withSummary)),
})
