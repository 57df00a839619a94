/** Every operation of the API with its parameters, out of the description that a gateway serves. */
import * as OpenApi from "@effect/platform/OpenApi"
import { apiAt } from "../../src/http/control/Api.ts"

interface Parameter {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly description?: string
  readonly schema?: { readonly description?: string }
}

export interface Operation {
  readonly operationId?: string
  readonly summary?: string
  readonly description?: string
  readonly parameters?: ReadonlyArray<Parameter>
}

/** Operations by path and method. */
export const operations = (): Readonly<Record<string, Readonly<Record<string, Operation>>>> =>
  // The type of `OpenApi` knows the control plane alone.
  (
    OpenApi.fromApi(apiAt("")) as unknown as {
      readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
    }
  ).paths

const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("\n", " ").replaceAll("<", "&lt;")

/** Of parameters that the description has no text for, by their names. */
const meanings: Readonly<Record<string, string>> = {
  after: "`next` of the page before",
  api_key_hash: "requests of this key",
  app: "requests of this app, by its title or URL",
  arch: "models with one of these tokenizers",
  author: "what stands before the slash of a model's name",
  context: "tokens of context that a model has at least",
  date: "a UTC day",
  distillable: "`true` or `false`: whether a model's answers may train others",
  from: "the beginning of the time, such as `2026-07-15T09:30:00Z`",
  group_by: "what the figures are told apart by",
  host: "requests of this host, by its tag",
  id: "a model's name",
  include_disabled: "`true`: disabled keys, too",
  input_modalities: "models that take all of these",
  interval: "`hour` or `day`",
  key_hash: "requests of this key",
  kind: "`ordinary` or `management`",
  limit: "how many at most",
  max_age_days: "days since a model was made, at most",
  max_output_price: "USD per million tokens of output, at most",
  max_price: "USD per million tokens of prompt, at most",
  max_tool_success_rate: "share of good tool calls, at most",
  min_age_days: "days since a model was made, at least",
  min_output_price: "USD per million tokens of output, at least",
  min_price: "USD per million tokens of prompt, at least",
  min_tool_success_rate: "share of good tool calls, at least",
  model: "requests of this model",
  model_authors: "models of these authors",
  offset: "how many to leave out at the beginning",
  outcome: "[how a request ended](errors.md#outcomes), or who caused it",
  output_modalities: "models that make any of these, or `all`; default: `text`",
  position: "`position` of an earlier answer",
  provider: "requests of this provider",
  providers: "models with a host of one of these",
  q: "words that are all in a model's id, name or aliases",
  request_id: "the id of a running request",
  search: "keys with this text in name, label or owner",
  slug: "what stands after the slash of a model's name",
  sort: "such as `most-popular`, `newest`, `pricing-low-to-high`, `latency-low-to-high`",
  state: "`firing`: alerts that hold now",
  status: "a status, or a class: `429`, `4xx`",
  supported_parameters: "models with hosts that support each of these",
  tag: "keys with this tag",
  to: "the end of that time",
  user: "requests of this end user, as requests name them",
  user_hash: "requests of this end user, as answers name them",
  zdr: "`true`: models with a host that keeps no prompts",
}

const rowOf = ({ name, in: place, required, description, schema }: Parameter): string =>
  `| \`${name}\`${required === true ? ", required" : ""} | ${place} | ${cell(description || schema?.description || meanings[name] || "")} |`

const table = (parameters: ReadonlyArray<Parameter>): string =>
  parameters.length === 0
    ? ""
    : `\n| parameter | in | meaning |\n| --- | --- | --- |\n${parameters.map(rowOf).join("\n")}\n`

export const page = (): string => {
  const sections = Object.entries(operations()).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId = "", summary = "", description, parameters = [] }]) => {
      // Most descriptions begin with the summary.
      const text = description?.startsWith(summary) === true ? description : `${summary}.\n${description ?? ""}`.trim()
      const linked = text.replace(/\bdocs\/([\w-]+)\.md\b/g, "[$1](../$1.md)")
      return `## ${method.toUpperCase()} ${path}\n\n\`${operationId}\`: ${linked}\n${table(parameters)}`
    }),
  )
  return `# The API

For authors of clients and scripts: every operation of the API, with its parameters.
Made by \`bun scripts/reference.ts\` from \`src/http/control/Api.ts\` and \`src/http/openapi\`; do not edit.

A gateway shows all bodies and examples at \`/docs\`, and serves the description at \`/api/v1/openapi.json\`.
[Differences](../api-differences.md) from the API that it is compatible with have a page of their own.
Each text begins with the \`operationId\`, by which [\`headgate/client\`](../embedding.md#client) calls it (of \`inference\` only \`explain\`).

${sections.join("\n")}`
}
