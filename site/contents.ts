/** The order of the guide: its sections, and the pages of `docs/` in each. A page that is in none fails the build. */
import { readdirSync } from "node:fs"
import { join } from "node:path"

export interface Section {
  readonly label: string
  /** Paths of files in `docs/` without `.md`, or of the pages that `pages.ts` makes. */
  readonly pages: ReadonlyArray<string>
}

/** Every page that is made of the code. */
const reference = readdirSync(join(import.meta.dirname, "../docs/reference"))
  .map((name) => `reference/${name.replace(/\.md$/, "").toLowerCase()}`)
  .toSorted()

export const sections: ReadonlyArray<Section> = [
  { label: "Start", pages: ["getting-started", "glossary"] },
  { label: "Configure", pages: ["configuration", "commands"] },
  {
    label: "Use it with",
    pages: ["clients", "messages", "responses", "generate-content", "completions", "hosted-tools"],
  },
  { label: "Route", pages: ["routing", "strategies", "hedging", "statistics"] },
  { label: "Budget and bill", pages: ["keys", "billing"] },
  { label: "Providers", pages: ["providers", "provider-keys", "catalogue"] },
  { label: "Plugins", pages: ["plugins", "plugin-contract", "broken-plugins"] },
  { label: "Embed", pages: ["embedding"] },
  {
    label: "Operate",
    pages: [
      "deployment",
      "backup",
      "console",
      "console-views",
      "state",
      "analytics",
      "requests",
      "access-log",
      "logs",
      "metrics",
      "traces",
      "alerts",
    ],
  },
  { label: "Troubleshoot", pages: ["errors"] },
  { label: "Reference", pages: [...reference, "api-differences"] },
  { label: "Coming from", pages: ["from-litellm", "from-portkey", "from-openrouter", "comparison"] },
  {
    label: "How it works",
    pages: ["guarantees", "architecture", "internals", "decisions", "bench", "contributing", "security"],
  },
  { label: "Changes", pages: ["changes"] },
]
