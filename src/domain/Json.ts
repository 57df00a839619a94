/** JSON as it comes off a wire: nothing known of it but that it is JSON. */
export type JsonObject = { readonly [member: string]: unknown }

/** Whether `value` is an object with members: not null, not an array. */
export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)
