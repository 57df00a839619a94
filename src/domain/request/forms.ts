/** The forms in which callers write their requests, by name: what they are called in the ledger and in the query of an explanation. */
import { type UnaryName, unaryNames, unaryOperations } from "./operations.ts"

type Path = `/${string}`

const chatForms = [
  ["chat", "/chat/completions"],
  ["completions", "/completions"],
  ["messages", "/messages"],
  ["responses", "/responses"],
  ["compact", "/responses/compact"],
] as const satisfies ReadonlyArray<readonly [name: string, path: Path]>

/** A form of a chat, or the one form of another operation, which has its name. */
export type FormName = (typeof chatForms)[number][0] | UnaryName

/** Where a request of each form is sent, below the base URL. The first one is the form of a body that does not say which it has. */
export const formPaths: ReadonlyMap<FormName, Path> = new Map<FormName, Path>([
  ...chatForms,
  ...unaryNames.map((name) => [name, unaryOperations[name].path] as const),
])
