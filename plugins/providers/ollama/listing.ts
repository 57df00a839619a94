/** The models of a server: `GET /api/tags` names them, `POST /api/show` says what each can do. */
import { isJsonObject, type JsonObject, type ListedModel, type ListModels } from "headgate/plugin"

/** What a model is assumed to hold whose length the server does not say. The server refuses what is too long for it. */
const unknownLength = 131_072

export const listing: ListModels = {
  request: { method: "GET", path: "/api/tags", body: "" },
  decode: (body) => {
    const models = isJsonObject(body) ? body["models"] : undefined
    if (!Array.isArray(models) || !models.every(isEntry)) return undefined
    return models.map(({ model, name, details }) => listed(String(model ?? name), details))
  },
  detail: {
    request: (model) => ({ path: "/api/show", body: JSON.stringify({ model }) }),
    decode: (model, body) => (isJsonObject(body) ? described(model, body) : model),
  },
}

/** Entries of a server of this kind have a digest, and a name or two. */
const isEntry = (entry: unknown): entry is JsonObject =>
  isJsonObject(entry) && typeof (entry["model"] ?? entry["name"]) === "string" && typeof entry["digest"] === "string"

const listed = (model: string, details: unknown): ListedModel => ({
  id: `ollama/${model}`,
  context_length: unknownLength,
  hosts: [{ model, quantization: quantizationOf(details) }],
})

/** `Q4_K_M`, `F16`, `MXFP4`: the nearest of the names that routing knows. */
const quantizationOf = (details: unknown) => {
  const level = isJsonObject(details) ? String(details["quantization_level"]).toLowerCase() : ""
  if (/^i?q4|^mxfp4/.test(level)) return level.startsWith("mx") ? "mxfp4" : "int4"
  if (/^q6/.test(level)) return "fp6"
  if (/^q8/.test(level)) return "int8"
  return level === "f16" ? "fp16" : level === "bf16" ? "bf16" : level === "f32" ? "fp32" : "unknown"
}

/** Parameters that every model takes. */
const always = [
  ...["max_tokens", "max_completion_tokens", "temperature", "top_p", "top_k", "min_p", "seed", "stop"],
  ...["frequency_penalty", "presence_penalty", "repetition_penalty", "response_format", "structured_outputs"],
  ...["logprobs", "top_logprobs"],
]

const described = (model: ListedModel, shown: JsonObject): ListedModel => {
  const capabilities: ReadonlyArray<unknown> | undefined = Array.isArray(shown["capabilities"])
    ? shown["capabilities"]
    : undefined
  const length = lengthIn(shown["model_info"])
  const [host = {}] = model.hosts ?? []
  const withLength = { ...model, ...(length === undefined ? {} : { context_length: length }) }
  // Servers before 0.6.4 do not say what a model can do.
  if (capabilities === undefined) return withLength
  const can = (what: string) => capabilities.includes(what)
  const isEmbedding = can("embedding") && !can("completion")
  const parameters = [
    ...always,
    ...(can("tools") ? ["tools", "tool_choice"] : []),
    ...(can("thinking") ? ["reasoning", "include_reasoning", "reasoning_effort"] : []),
  ]
  return {
    ...withLength,
    architecture: {
      input_modalities: can("vision") ? ["text", "image"] : ["text"],
      output_modalities: isEmbedding ? ["embeddings"] : ["text"],
    },
    hosts: [
      isEmbedding
        ? { ...host, supported_parameters: ["dimensions"] }
        : {
            ...host,
            supported_parameters: parameters,
            supports_tool_choice: { none: can("tools"), auto: can("tools"), required: false, function: false },
          },
    ],
  }
}

/** `llama.context_length`, by the architecture's name. */
const lengthIn = (info: unknown): number | undefined => {
  if (!isJsonObject(info)) return undefined
  const length = info[`${info["general.architecture"]}.context_length`]
  return typeof length === "number" && Number.isInteger(length) && length > 0 ? length : undefined
}
