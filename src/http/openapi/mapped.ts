import type { JsonObject } from "../../domain/json/json.ts"

/** The same object with other values. */
export const mapped = <A>(value: Readonly<Record<string, A>>, each: (inner: A, name: string) => unknown): JsonObject =>
  Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, each(inner, name)]))
