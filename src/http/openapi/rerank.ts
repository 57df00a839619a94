/** `POST /rerank`: the decoder is `http/data/rerank/decode.ts`. */
import { most } from "../decode/members.ts"
import { noStream, unaryMembers } from "./embeddings.ts"
import { cost, modelRules, otherMembers, sharedSchemas } from "./members.ts"
import {
  amount,
  anyOf,
  count,
  type DescribedForm,
  described,
  filledText,
  given,
  integer,
  listOf,
  named,
  operation,
  type Schema,
  taken,
  text,
} from "./schema.ts"

const has = (name: string): Schema => ({ properties: { [name]: text }, required: [name] })

const structured: Schema = {
  ...taken({ text, image: described("An address, or a data URL.", text) }),
  ...anyOf(has("text"), has("image")),
}

const request: Schema = {
  ...taken(
    {
      ...sharedSchemas,
      stream: noStream,
      query: filledText,
      documents: listOf(anyOf(text, named("RerankDocument")), { minItems: 1, maxItems: most.inputs }),
      top_n: described(
        "How many results are wanted, the most relevant ones. Default: every result.",
        integer(1, most.tokens),
      ),
    },
    "query",
    "documents",
  ),
  description: otherMembers,
  allOf: modelRules,
}

const result = given({
  index: described("The place of the document.", count),
  relevance_score: amount,
  document: described("As it was given; a text as the text of an object.", named("RerankDocument")),
})

const usage = given(
  { total_tokens: count, search_units: described("Of hosts that charge by these.", count), cost },
  "search_units",
)

const answer = given(
  {
    ...unaryMembers,
    results: described("The most relevant first.", listOf(result)),
    usage,
  },
  "openrouter_metadata",
)

export const rerankForm: DescribedForm = {
  operations: {
    "/api/v1/rerank": operation({
      name: "rerank",
      description: "Documents by their relevance to a query.",
      request: named("RerankRequest"),
      answer: named("RerankAnswer"),
      error: named("Error"),
    }),
  },
  schemas: { RerankRequest: request, RerankDocument: structured, RerankAnswer: answer },
}
