/** What the answers to one request have in common, for writers of formats without a gateway. */
import type { AnswerNames } from "../../../src/formats/AnswerWriter.ts"
import { renderedIn } from "../../../src/http/errorBody.ts"

export const answerNames = (model = "acme/small"): AnswerNames => ({
  ...{ requestId: "req_1", generationId: "gen-1790000000-0123456789abcdefghij", created: 1, model },
  time: { admittedAt: 1000, elapsedMs: () => 1000 },
  metadata: undefined,
  rendered: renderedIn,
})
