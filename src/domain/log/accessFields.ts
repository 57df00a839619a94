/** Every field of a line of the access log, but for those of all lines. docs/reference/accessLog.md is made of it. Pure data. */

interface AccessField {
  /** What it says. */
  readonly means: string
  readonly unit?: "ms" | "bytes" | "tokens" | "USD" | "UTC"
  /** Only requests to models have it. */
  readonly ofModels?: true
}

export const accessFields = {
  request_id: { means: "as in the header `X-GW-Request-Id`" },
  route: { means: "method and path, `POST /api/v1/chat/completions`; `*` for an unknown path" },
  status: { means: "as sent, or as it would have been; 200 for a stream that broke off" },
  outcome: { means: "how it ended, in [a word](errors.md#outcomes) that says who caused it" },
  why: { means: "the reason, as in [records](requests.md#kept); never a quotation of a body" },
  created_at: { unit: "UTC", means: "when its first byte came" },
  duration_ms: { unit: "ms", means: "from then to its end" },
  key_name: { means: "the name of the key; absent where no key is known" },
  key_hash: { means: "its hash" },
  address: { means: "the client's IP address, if known ([proxies](deployment.md#address))" },
  caller_request_id: { means: "the client's own `X-Request-Id`" },
  app_title: { means: "the app's name, as the client sent it" },
  app_url: { means: "its URL, as the client sent it" },
  form: { ofModels: true, means: "the API format: `chat`, `messages`, …" },
  streamed: { ofModels: true, means: "whether a stream was asked for" },
  model: { ofModels: true, means: "of the host that answered, else as asked for" },
  host: { ofModels: true, means: "tag of the host that answered, else of the last one called" },
  attempts: { ofModels: true, means: "at most 16 calls of hosts, in the order in which they ended; see below" },
  generation_id: { ofModels: true, means: "as in the header `X-Generation-Id`" },
  tokens_prompt: { ofModels: true, unit: "tokens", means: "as booked" },
  tokens_completion: { ofModels: true, unit: "tokens", means: "as booked" },
  cost_usd: {
    ofModels: true,
    unit: "USD",
    means: "what the key pays, an exact decimal; `usage` in `GET /api/v1/requests`",
  },
  first_token_ms: {
    ofModels: true,
    unit: "ms",
    means: "of streams: to the host's first event that a client would see",
  },
  overhead_ms: {
    ofModels: true,
    unit: "ms",
    means: "added by the gateway; `headgate_overhead_seconds` of the [metrics](reference/metrics.md)",
  },
  bytes_in: { unit: "bytes", means: "of the request's body, as read" },
  bytes_out: { unit: "bytes", means: "of the answer's body, as sent" },
  requests: { means: "how many refused requests without a known key this line represents; absent: one" },
} as const satisfies Readonly<Record<string, AccessField>>

export type AccessFieldName = keyof typeof accessFields
