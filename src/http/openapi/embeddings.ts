/** `POST /embeddings`: the decoder is `http/data/embeddings/decode.ts`. */
import { most } from "../decode/members.ts"
import { answerMembers, imageUrl } from "./chat.ts"
import { costMembers, modelRules, otherMembers, sharedSchemas } from "./members.ts"
import {
  amount,
  anyObject,
  anyOf,
  count,
  type DescribedForm,
  described,
  filledText,
  given,
  integer,
  listOf,
  named,
  oneOf,
  only,
  operation,
  type Schema,
  taken,
  text,
  typed,
} from "./schema.ts"

/** Operations that have no streams take `stream: false` alone. */
export const noStream = described("There are no streams.", { const: false })

const media = taken({ data: filledText, format: text }, "data")

const part = anyOf(
  typed("text", { text }, "text"),
  typed("image_url", { image_url: taken({ url: imageUrl }, "url") }, "image_url"),
  typed("input_audio", { input_audio: media }, "input_audio"),
  typed("input_video", { input_video: media }, "input_video"),
  typed("input_file", { input_file: media }, "input_file"),
)

const atLeastOne = { minItems: 1 }
const inputs = { minItems: 1, maxItems: most.inputs }
const tokens = listOf(integer(0, most.tokens), atLeastOne)
const inParts = taken({ content: listOf(named("EmbeddingPart"), atLeastOne) }, "content")

const request: Schema = {
  ...taken(
    {
      ...sharedSchemas,
      stream: noStream,
      input: described(
        "A text, the tokens of one, or a list of texts, of lists of tokens, or of objects whose parts become one vector together.",
        anyOf(text, tokens, listOf(text, inputs), listOf(tokens, inputs), listOf(inParts, inputs)),
      ),
      dimensions: described("Length of the vectors. Default: the model's own.", integer(1, most.tokens)),
      encoding_format: described("Default: as the host gives them.", oneOf("float", "base64")),
      input_type: described("What the inputs are for, such as search_query.", text),
    },
    "input",
  ),
  description: otherMembers,
  allOf: modelRules,
}

const embedding = given({
  object: only("embedding"),
  index: described("The place of its input.", count),
  embedding: described("Numbers, or base64 of float32 in little-endian order.", anyOf(listOf(amount), text)),
})

const usage = given(
  {
    prompt_tokens: count,
    total_tokens: count,
    ...costMembers,
    prompt_tokens_details: described(
      "Of inputs that are no text.",
      taken({ audio_tokens: count, image_tokens: count, video_tokens: count }),
    ),
  },
  "prompt_tokens_details",
)

const { id, model, provider } = answerMembers

/** What answers of operations without streams have in common. */
export const unaryMembers = {
  ...{ id, model, provider },
  openrouter_metadata: described("The routing, where a header asked for it.", anyObject),
}

const answer = given(
  {
    ...unaryMembers,
    object: only("list"),
    data: described("One for each input, in their order.", listOf(embedding)),
    usage,
  },
  "openrouter_metadata",
)

export const embeddingsForm: DescribedForm = {
  operations: {
    "/api/v1/embeddings": operation({
      name: "embeddings",
      description: "Vectors of texts, tokens, images or other inputs.",
      request: named("EmbeddingsRequest"),
      answer: named("EmbeddingsAnswer"),
      error: named("Error"),
    }),
  },
  schemas: { EmbeddingsRequest: request, EmbeddingPart: part, EmbeddingsAnswer: answer },
}
