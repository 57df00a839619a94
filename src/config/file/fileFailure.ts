/** Why a configuration file cannot be read, without repeating anything of its content. */

/** Why a file could not be imported, in one line and without the parts of its source that the runtime quotes. */
export const importFailure = (cause: unknown): string => {
  const [first = cause] = cause instanceof AggregateError ? cause.errors : []
  if (first instanceof BuildMessage) {
    const at = first.position
    return `expected a file that parses, got an error${at === null ? "" : ` at line ${at.line}, column ${at.column}`}`
  }
  if (!(first instanceof Error) && !(first instanceof ResolveMessage))
    return "expected a file that loads, got a throw of no Error"
  return `expected a file that loads, got ${first.name}: ${withoutSource(first.message)}`
}

// JavaScriptCore adds the source of the failed expression in brackets: "(In 'x.f({ api_key: ... })', 'x.f' is undefined)".
const withoutSource = (message: string): string =>
  message
    .replace(/ ?\((In|near|evaluating) '.*$/s, "")
    .replace(/(?=[\w+=-]*[A-Za-z])(?=[\w+=-]*\d)[\w+=-]{12,}/g, "…")
    .slice(0, 300)
