/** `POST /rerank`. */

import { documentSchema, rerankTable } from "../../formats/rerank/rerankRequest.ts"
import { formPath } from "../dataPaths.ts"
import { cost, unaryMembers } from "./answers.ts"
import { operation, type Paths } from "./operation.ts"
import { amount, count, described, errorBody, given, listOf, titled } from "./schemas.ts"

const result = given({
  index: described("The place of the document.", count),
  relevance_score: amount,
  document: described("As it was given; a text as the text of an object.", documentSchema),
})

const usage = given(
  { total_tokens: count, search_units: described("Of hosts that charge by these.", count), cost },
  "search_units",
)

const answer = titled(
  "RerankAnswer",
  given(
    {
      ...unaryMembers,
      results: described("The most relevant first.", listOf(result)),
      usage,
    },
    "openrouter_metadata",
  ),
)

export const rerankPaths: Paths = {
  [formPath("rerank")]: {
    post: operation({
      name: "rerank",
      description: "Documents by their relevance to a query.",
      request: {
        schema: rerankTable.schema,
        example: { model: "cohere/rerank-v3.5", query: "red fox", documents: ["a grey wolf", "a red fox"], top_n: 1 },
      },
      answer: {
        schema: answer,
        example: {
          id: "gen-1764000000-4fGh2kLm9PqRsT7vWxYz",
          model: "cohere/rerank-v3.5",
          provider: "Cohere",
          results: [{ index: 1, relevance_score: 0.98, document: { text: "a red fox" } }],
          usage: { total_tokens: 12, search_units: 1, cost: 0.002 },
        },
      },
      error: errorBody,
    }),
  },
}
