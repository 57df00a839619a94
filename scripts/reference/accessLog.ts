/** docs/reference/accessLog.md: the fields of a line of the access log, as `src/domain/log` declares them. */
import { accessFields } from "../../src/domain/log/accessFields.ts"

/** Links of fields are written as from `docs`. */
const linked = (text: string): string => text.replaceAll("](", "](../").replaceAll("](../reference/", "](")

const rows = Object.entries(accessFields).map(([name, field]) => {
  const unit = "unit" in field ? field.unit : ""
  return `| \`${name}\` | ${unit} | ${"ofModels" in field ? "models" : "all"} | ${linked(field.means)} |`
})

export const page = (): string => `# Fields of the access log

For operators: what each field of a line of the [access log](../access-log.md) says.
Made by \`bun scripts/reference.ts\` from \`src/domain/log/accessFields.ts\`; do not edit.

The names are those of \`GET /api/v1/requests\`; unknown values are left out.
\`event\` and \`message\` are \`request\`; the other fields of every line are in [the log](../logs.md#format).

| field | unit | requests | meaning |
| --- | --- | --- | --- |
${rows.join("\n")}

In JSON, \`attempts\` is a list with \`model\`, \`host\`, \`outcome\`, \`status\` and \`duration_ms\` of each call.
\`fault\` says what kept the host from being reached, where that is known: [a word](../requests.md#faults).
Otherwise it is a text such as \`acme/eu:429:120.4ms,acme/us:200:800ms\`: host, status and time.
The fault or the outcome replaces the status where no answer came: \`acme/eu:dns:5.1ms\`.
`
