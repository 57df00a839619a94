/** `POST /rerank`. */
import { documentSchema, rerankTable } from "../../formats/rerank/rerankRequest.ts"
import { formPath } from "../dataPaths.ts"
import { costing, unaryMembers } from "./answers.ts"
import { post } from "./operation.ts"
import { amount, count, described, exampleOf, given, like, listOf, titled } from "./schemas.ts"

const result = given({
  index: like(described("The place of the document.", count), 1),
  relevance_score: like(amount, 0.98),
  document: like(described("As it was given; a text as the text of an object.", documentSchema), { text: "a red fox" }),
})

const results = described("The most relevant first.", listOf(result))

const usage = given(
  {
    total_tokens: like(count, 12),
    search_units: like(described("Of hosts that charge by these.", count), 1),
    cost: costing(0.002),
  },
  "search_units",
)

const answer = given({ ...unaryMembers, results, usage }, "openrouter_metadata")

const example = {
  ...{ id: exampleOf(unaryMembers.id), model: "cohere/rerank-v3.5", provider: "Cohere" },
  ...{ results: exampleOf(results), usage: exampleOf(usage) },
}

export const rerankPaths = post(formPath("rerank"), {
  name: "rerank",
  description: "Documents by their relevance to a query.",
  request: {
    schema: rerankTable.schema,
    example: { model: "cohere/rerank-v3.5", query: "red fox", documents: ["a grey wolf", "a red fox"], top_n: 1 },
  },
  answer: titled("RerankAnswer", like(answer, example)),
})
