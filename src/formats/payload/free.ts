/**
 * Places of a payload where the caller's JSON may be anything, since hosts do not act on it: schemas, arguments of calls, results,
 * and records of what a host said. They are the only ones that the walk leaves out.
 */
import type { JsonObject } from "../../domain/json/json.ts"

/** What a member has to stand in to be free: the name of the member, or list, that its owner is or is in. */
const places: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries({
    // Schemas of functions.
    parameters: ["tools", "function", "functions", "functionDeclarations", "definition"],
    output_schema: ["tools"],
    parametersJsonSchema: ["functionDeclarations"],
    input_schema: ["tools", "definition"],
    input_examples: ["tools", "definition"],
    inputSchema: ["toolSpec"],
    // Arguments and results of calls.
    arguments: ["function", "input", "tool_calls"],
    args: ["functionCall"],
    response: ["functionResponse"],
    json: ["content"],
    // Schemas of answers. At Ollama the format is one.
    schema: ["json_schema", "format", "output_format", "jsonSchema"],
    json_schema: ["response_format"],
    responseJsonSchema: ["generationConfig"],
    responseSchema: ["generationConfig"],
    format: [""],
    // Names and values of the caller's own.
    metadata: [""],
    labels: [""],
    requestMetadata: [""],
    client_metadata: [""],
    logit_bias: [""],
    data: ["documents"],
  }).map(([name, owners]) => [name, new Set(owners)]),
)

/** What a host said, given back to it. */
const records: ReadonlySet<string> = new Set(["annotations", "citations", "logprobs"])

const calls: ReadonlySet<unknown> = new Set(["tool_use", "server_tool_use", "mcp_tool_use", "custom_tool_call"])

/** Whether the walk leaves a member out. `inside`: the name of the member, or list, that its owner is or is in. */
export const isFree = (name: string, owner: JsonObject, inside: string): boolean => {
  const owners = places.get(name)
  if (owners !== undefined) return owners.has(inside)
  if (records.has(name)) return true
  // Not of the body itself, whose type says nothing.
  if (name === "input") return inside === "toolUse" || (inside !== "" && calls.has(owner["type"]))
  // What a search of the host opened.
  if (name === "action") return typeof owner["type"] === "string" && owner["type"].endsWith("_call")
  // Members of a document are ranked as text, but for its image.
  return inside === "documents" && name !== "image" && owner["type"] === undefined
}
