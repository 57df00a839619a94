/** `POST /route/explain`, which takes a request of any form. */

import { objectIn } from "../../domain/json/json.ts"
import { forms } from "../data/forms.ts"
import { explainPath } from "../dataPaths.ts"
import { chatExample } from "./chat.ts"
import { operation, type Paths } from "./operation.ts"
import {
  anyObject,
  anyOf,
  anything,
  count,
  described,
  exampleOf,
  given,
  like,
  listOf,
  oneOf,
  orNull,
  text,
  titled,
} from "./schemas.ts"

const names = Object.keys(forms)
const requests = Object.values(forms).map(({ schema }) => schema)

const attempt = given(
  {
    model: like(text, "openai/gpt-5-mini"),
    host: like(text, "openai"),
    provider: like(text, "OpenAI"),
    rank: like({ type: "integer", minimum: 1, maximum: 4096 }, 1),
    estimated_cost_usd: orNull(like(text, "0.000403")),
    why: like(anything, null),
    api_key: text,
  },
  "api_key",
)

const excluded = given(
  {
    model: like(text, "openai/gpt-5-mini"),
    host: like(anything, "azure"),
    by: like(text, "data_collection"),
    reason: like(text, "may train on prompts"),
  },
  "host",
)

const members = {
  strategy: like(text, "price"),
  seed: like(count, 1861421),
  attempts: listOf(attempt),
  excluded: listOf(excluded),
  dropped_parameters: described(
    "By tag of the host.",
    like({ type: "object", additionalProperties: listOf(text) }, {}),
  ),
  error: described("Why no host could be called.", anyObject),
}

const shares = [{ model: "openai/gpt-5-mini", host: "openai", first: 1000, share: 1 }]
const explanation = given(members, "error")
const example = { ...objectIn(exampleOf(explanation)), draws: { count: 1000, shares } }

const query = (name: string, schema: object, description: string) => ({
  name,
  in: "query",
  required: false,
  schema,
  description,
})

export const explainPaths: Paths = {
  [explainPath]: {
    post: {
      ...operation({
        name: "explain",
        description:
          "How this request would be routed now, and why. No host is called. The members of the answer are described in docs/routing.md.",
        request: { schema: anyOf(...requests), example: chatExample },
        answer: like(given({ data: titled("Explanation", explanation) }), { data: example }),
      }),
      parameters: [
        query("form", oneOf(...names), "The API format of the body. Default: chat."),
        query(
          "seed",
          { type: "integer", minimum: 0, maximum: 2 ** 32 - 1 },
          "Of the random draws, as an earlier plan had it.",
        ),
        query(
          "draws",
          { type: "integer", minimum: 1, maximum: 1000 },
          "How often the draw of the strategy is repeated, for the share of each host.",
        ),
        query("key_hash", text, "The key to explain for. A management key may name any; without it, none counts."),
      ],
    },
  },
}
