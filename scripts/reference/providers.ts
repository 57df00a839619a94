/** docs/reference/providers.md: the members that each provider plugin has of its own, out of its Schema. */
import { join, resolve } from "node:path"
import { ownSchemaOf, type ProviderPlugin } from "../../src/plugin/Provider.ts"
import { ownPluginPaths } from "../../test/support/hosts/ownPlugins.ts"
import { membersIn } from "../configSchema.ts"
import { type Form, formOf, type Member } from "../writtenForm.ts"

interface Own {
  readonly plugin: ProviderPlugin
  readonly members: ReadonlyArray<Member>
}

const folder = resolve(import.meta.dirname, "../../plugins")

const ownOf = async (path: string): Promise<Own> => {
  const { default: plugin } = (await import(join(folder, path, "index.ts"))) as { readonly default: ProviderPlugin }
  const schema = ownSchemaOf(plugin)
  if (schema === undefined) throw new Error(`${path} has no Schema of its own members`)
  const members = membersIn(formOf(schema.ast))
  const unsaid = members.filter(({ description }) => description === "").map(({ name }) => name)
  if (unsaid.length > 0) throw new Error(`${path} has members without a description: ${unsaid.join(", ")}`)
  return { plugin, members }
}

const cell = (text: string): string => text.replaceAll("|", "\\|")
const code = (value: unknown): string => `\`${JSON.stringify(value)}\``

/** What may be written, in words. */
const valuesOf = (form: Form): string => {
  if (form.name === "Secret") return '`{ "env": "NAME" }`'
  switch (form.kind) {
    case "anything":
    case "text":
    case "number":
      return form.kind
    case "words":
      return form.words.map(code).join(", ")
    case "list":
      return `list: ${valuesOf(form.item)}`
    case "either":
      return form.forms.map(valuesOf).join(", or ")
    case "object":
      return "object"
    case "value":
      throw new Error(`${String(form.name)} is not in JSON`)
  }
}

/** What holds where the member is left out: variables, and what holds without them. */
const defaultOf = ({ name, default: fallback, isOptional }: Member, { variables = {} }: ProviderPlugin): string => {
  const read = [variables[name] ?? []].flat().map((variable) => `\`${variable}\``)
  const value = fallback === undefined ? [] : [code(fallback)]
  return [...read, ...value, ...(isOptional ? [] : ["it is required"])].join(", else ")
}

const section = ({ plugin, members }: Own): string => {
  const rows = members.map((member) =>
    [`\`${member.name}\``, valuesOf(member.form), member.description, defaultOf(member, plugin)].map(cell).join(" | "),
  )
  return `## \`${plugin.id}\`

| member | values | meaning | default |
| --- | --- | --- | --- |
${rows.map((row) => `| ${row} |`).join("\n")}
`
}

export const page = async (): Promise<string> => {
  const paths = ownPluginPaths().filter((path) => path.startsWith("providers/"))
  const all = await Promise.all(paths.toSorted().map(ownOf))
  const without = all.filter(({ members }) => members.length === 0).map(({ plugin }) => `\`${plugin.id}\``)
  return `# Members of provider plugins

For operators: the members that each provider plugin has of its own, what they mean, and their defaults.
Made by \`bun scripts/reference.ts\` from the Schemas in \`plugins/providers\`; do not edit.

They stand in \`providers.NAME\` of the configuration, beside [those that all providers have](configuration.md#providers):

\`\`\`json
{ "providers": { "acme": { "plugin": "openai-compatible", "base_url": "https://api.acme.example/v1", "strict": true } } }
\`\`\`

A variable in the last column is read where the member is left out; of several, the first that is set.
[Providers](../providers.md) has the variables of keys.

${all
  .filter(({ members }) => members.length > 0)
  .map(section)
  .join("\n")}
## Others <a id="others"></a>

Without members of their own: ${without.join(", ")}.
`
}
