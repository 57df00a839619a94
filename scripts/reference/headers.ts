/** The headers that are no standard, by the names that the code has for them. One without a meaning does not compile. */
import * as headers from "../../src/http/headers.ts"

/** What is exported there for each of them. */
type Named = {
  [Name in keyof typeof headers]: (typeof headers)[Name] extends string | ReadonlyArray<string> ? Name : never
}[keyof typeof headers]

type Place = "request" | "answer" | "both"

const meanings: Readonly<Record<Named, readonly [place: Place, meaning: string]>> = {
  requestIdHeader: ["answer", "id of the request; on every answer, errors too"],
  openaiRequestIdHeader: [
    "both",
    "answer: the same id, where OpenAI's SDK reads it; request: the caller's own id, for log and ledger",
  ],
  anthropicRequestIdHeader: ["answer", "the same id, where Anthropic's SDK reads it"],
  hostHeader: ["both", "answer: tag of the host that answered; request: pins that host"],
  sessionHeader: ["request", "the caller's name for the conversation, as `session_id` of the body, which comes first"],
  agentSessionHeaders: ["request", "the same as agents send it, after `x-session-id`; the first that is there"],
  titleHeaders: ["request", "title of the app that sends it; the first that is there"],
  refererHeader: ["request", "address of the app that sends it"],
  metadataHeaders: ["request", "with `enabled`, the answer says [how it was routed](../routing.md#asking)"],
  costHeader: ["answer", "what the answer cost, USD; a stream has it in its finish chunk"],
  serverTimingHeader: ["answer", "what the time was spent on, with `server.server_timing`; not on streams"],
  generationIdHeader: ["answer", "id of the generation"],
  droppedHeader: ["answer", "members of the request that were not sent to the host"],
  pageHeaders: ["answer", "of requests as CSV: `next` and `position` of the same page as JSON"],
  backupSizeHeader: ["answer", "bytes of a backup"],
  backupDigestHeader: ["answer", "SHA-256 of a backup, as RFC 9530 writes it"],
  shouldRetryHeader: ["answer", "on an error, whether to [repeat the request](../errors.md#agents)"],
  idempotencyHeader: ["request", "makes the request safe to send again"],
  replayedHeader: ["answer", "`true` where an answer is sent again under an Idempotency-Key"],
  idempotencyStatusHeader: ["answer", "`not-kept` if a repeat under the Idempotency-Key will not get this answer"],
  rateLimitHeaders: [
    "answer",
    "on a 429 of the gateway: requests in the window, what is left, and when a request is admitted again (Unix milliseconds)",
  ],
}

const named: Pick<typeof headers, Named> = headers

const rows = (Object.entries(meanings) as ReadonlyArray<[Named, (typeof meanings)[Named]]>).map(
  ([name, [place, meaning]]) =>
    `| ${[named[name]]
      .flat()
      .map((each) => `\`${each}\``)
      .join(", ")} | ${place} | ${meaning} |`,
)

export const page = (): string => `# Headers

For authors of clients: the headers that the gateway reads and writes beside those of HTTP.
Made by \`bun scripts/reference.ts\` from \`src/http/headers.ts\`; do not edit.

Capital and small letters are alike.
A key comes in \`Authorization: Bearer …\`, else in \`x-api-key\`.
\`traceparent\` is described in [traces](../traces.md), \`anthropic-beta\` in [Messages](../messages.md).

| header | in | meaning |
| --- | --- | --- |
${rows.join("\n")}
`
