/** docs/reference/logEvents.md: the events of the log, as `src/domain/log` declares them. */
import { hostEvents } from "../../src/domain/log/hostEvents.ts"
import type { LogEvent } from "../../src/domain/log/LogEvent.ts"
import { processEvents } from "../../src/domain/log/processEvents.ts"
import { requestEvents } from "../../src/domain/log/requestEvents.ts"
import { storageEvents } from "../../src/domain/log/storageEvents.ts"
import { watchEvents } from "../../src/domain/log/watchEvents.ts"

const parts: ReadonlyArray<readonly [heading: string, events: Readonly<Record<string, LogEvent>>]> = [
  ["The process, its configuration and its workers", processEvents],
  ["Requests and plugins", requestEvents],
  ["Hosts and keys of providers", hostEvents],
  ["Database and ledger", storageEvents],
  ["Alerts, figures, traces, and the log itself", watchEvents],
]

/** Links of events are written as from `docs`. */
const linked = (text: string): string => text.replaceAll("](", "](../").replaceAll("](../reference/", "](")

const rowOf = ([name, { level, text, means, remedy }]: readonly [string, LogEvent]): string =>
  `| <a id="${name.replaceAll("_", "-")}"></a>\`${name}\` | ${level} | ${text} | ${linked(means)} | ${linked(remedy)} |`

export const page = (): string => `# Log events

For operators: every event of [the log](../logs.md), and what to do about it.
Made by \`bun scripts/reference.ts\` from \`src/domain/log\`; do not edit.

Names, levels and meanings stay from version to version.
\`{}\` encloses the name of a fact.
The level \`any\` is chosen by whoever logs the line.
${parts
  .map(
    ([heading, events]) => `
## ${heading}

| event | level | message | what has happened | what to do |
| --- | --- | --- | --- | --- |
${Object.entries(events).map(rowOf).join("\n")}
`,
  )
  .join("")}`
