/** `POST /embeddings`. */
import { embeddingsTable } from "../../formats/embeddings/embeddingsRequest.ts"
import { formPath } from "../dataPaths.ts"
import { costMembers, unaryMembers } from "./answers.ts"
import { post } from "./operation.ts"
import {
  amount,
  anyOf,
  count,
  described,
  exampleOf,
  given,
  like,
  listOf,
  only,
  orNull,
  text,
  titled,
} from "./schemas.ts"

const embedding = given({
  object: only("embedding"),
  index: described("The place of its input.", count),
  embedding: described("Numbers, or base64 of float32 in little-endian order.", anyOf(listOf(amount), text)),
})

const mediaTokens = { audio_tokens: orNull(count), image_tokens: orNull(count), video_tokens: orNull(count) }
const media = given(mediaTokens, ...Object.keys(mediaTokens))

const usage = given(
  {
    prompt_tokens: like(count, 6),
    total_tokens: like(count, 6),
    ...costMembers,
    prompt_tokens_details: like(described("Of inputs that are no text.", media), undefined),
  },
  "prompt_tokens_details",
)

const answer = given(
  {
    ...unaryMembers,
    object: only("list"),
    data: described("One for each input, in their order.", listOf(embedding)),
    usage,
  },
  "openrouter_metadata",
)

const example = {
  id: exampleOf(unaryMembers.id),
  model: "openai/text-embedding-3-small",
  provider: "OpenAI",
  object: "list",
  data: [
    { object: "embedding", index: 0, embedding: [0.0123, -0.0456, 0.0789] },
    { object: "embedding", index: 1, embedding: [0.0101, -0.0311, 0.0824] },
  ],
  usage: exampleOf(usage),
}

export const embeddingsPaths = post(formPath("embeddings"), {
  name: "embeddings",
  description: "Vectors of texts, tokens, images or other inputs.",
  request: {
    schema: embeddingsTable.schema,
    example: { model: "openai/text-embedding-3-small", input: ["a red fox", "a grey wolf"] },
  },
  answer: titled("EmbeddingsAnswer", like(answer, example)),
})
