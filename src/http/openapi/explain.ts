/** `POST /route/explain`, which takes a request of any form. */

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
    model: text,
    host: text,
    provider: text,
    rank: { type: "integer", minimum: 1, maximum: 4096 },
    estimated_cost_usd: orNull(text),
    why: anything,
    api_key: text,
  },
  "api_key",
)

const explanation = titled(
  "Explanation",
  given(
    {
      strategy: text,
      seed: count,
      attempts: listOf(attempt),
      excluded: listOf(given({ model: text, host: anything, by: text, reason: text }, "host")),
      dropped_parameters: described("By tag of the host.", { type: "object", additionalProperties: listOf(text) }),
      error: described("Why no host could be called.", anyObject),
    },
    "error",
  ),
)

const example = {
  strategy: "price",
  seed: 1861421,
  attempts: [
    {
      model: "openai/gpt-5-mini",
      host: "openai",
      provider: "OpenAI",
      rank: 1,
      estimated_cost_usd: "0.000403",
      why: null,
    },
  ],
  excluded: [{ model: "openai/gpt-5-mini", host: "azure", by: "data_collection", reason: "may train on prompts" }],
  dropped_parameters: {},
  draws: { count: 1000, shares: [{ model: "openai/gpt-5-mini", host: "openai", first: 1000, share: 1 }] },
}

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
        answer: like(given({ data: explanation }), { data: example }),
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
