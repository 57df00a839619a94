/** A JSON object whose members have not been checked. */
export type JsonObject = { readonly [member: string]: unknown }

/** Whether `value` is an object with members: not null, not an array. */
export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)
