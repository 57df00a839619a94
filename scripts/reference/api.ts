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

const rowOf = ({ name, in: place, required, description, schema }: Parameter): string =>
  `| \`${name}\`${required === true ? ", required" : ""} | ${place} | ${cell(description ?? schema?.description ?? "")} |`

const table = (parameters: ReadonlyArray<Parameter>): string =>
  parameters.length === 0
    ? ""
    : `\n| parameter | in | meaning |\n| --- | --- | --- |\n${parameters.map(rowOf).join("\n")}\n`

export const page = (): string => {
  const sections = Object.entries(operations()).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { summary = "", description, parameters = [] }]) => {
      // Most descriptions begin with the summary.
      const text = description?.startsWith(summary) === true ? description : `${summary}.\n${description ?? ""}`.trim()
      const linked = text.replace(/\bdocs\/([\w-]+)\.md\b/g, "[$1](../$1.md)")
      return `## ${method.toUpperCase()} ${path}\n\n${linked}\n${table(parameters)}`
    }),
  )
  return `# The API

For authors of clients and scripts: every operation of the API, with its parameters.
Made by \`bun scripts/reference.ts\` from \`src/http/control/Api.ts\` and \`src/http/openapi\`; do not edit.

A gateway shows all bodies and examples at \`/docs\`, and serves the description at \`/api/v1/openapi.json\`.
[Differences](../api-differences.md) from the API that it is compatible with have a page of their own.

${sections.join("\n")}`
}
