/** Every member of the configuration, out of its Schema. */
import { variables } from "../../src/config/environment.ts"
import { memberRows } from "../configSchema.ts"

const title = (name: string): string => `${name.slice(0, 1).toUpperCase()}${name.slice(1)}`

/** What is said before the table of a section. */
const before: Readonly<Record<string, string>> = {
  providers: "What some plugins have besides is in [members of provider plugins](providers.md).\n\n",
}

/** The name of the section of a member: its first word. */
const sectionOf = (row: string): string => /^\| `([^`.[]+)/.exec(row)?.[1] ?? ""

export const page = (): string => {
  const sections = Map.groupBy(memberRows(), sectionOf)
  // Members without others are one table, the first.
  const alone = [...sections].filter(([, rows]) => rows.length === 1)
  const groups: ReadonlyArray<readonly [string, ReadonlyArray<string>]> = [
    ["the first level", alone.flatMap(([, rows]) => rows)],
    ...[...sections].filter(([, rows]) => rows.length > 1),
  ]
  const tables = groups.map(
    ([name, rows]) =>
      `## ${title(name)}\n\n${before[name] ?? ""}| member | meaning | default |\n| --- | --- | --- |\n${rows.join("\n")}\n`,
  )
  const text = `# Members and variables

For operators: every member of the configuration and every variable, what it means, and its default.
Made by \`bun scripts/reference.ts\` from \`src/config/GatewayConfig.ts\` and \`src/config/environment.ts\`; do not edit.

[Configuration](../configuration.md) says how to write it.
\`[]\` is an item of a list, \`NAME\` a name of your choice.

${tables.join("\n")}
## Variables <a id="variables"></a>

A flag wins over its variable, and a variable over the file.
Variables of providers are in [providers](../providers.md).

| variable | what it sets |
| --- | --- |
${Object.entries(variables)
  .map(([name, about]) => `| \`${name}\` | ${about} |`)
  .join("\n")}
`
  return text.replace(/\bdocs\/([\w-]+)\.md\b(#[\w-]+)?/g, "[$1](../$1.md$2)")
}
