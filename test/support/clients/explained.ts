/** What a caller reads of `POST /api/v1/route/explain`. */
import { expect } from "bun:test"
import type { TestGateway } from "../gateways/gateway.ts"
import type { ErrorBody } from "./answers.ts"

export interface ExplainedBody {
  readonly strategy: string
  readonly seed: number
  readonly attempts: ReadonlyArray<{
    readonly model: string
    readonly host: string
    readonly provider: string
    readonly rank: number
    readonly estimated_cost_usd: string | null
    readonly why: Readonly<Record<string, unknown>> | null
  }>
  readonly excluded: ReadonlyArray<{
    readonly model: string
    readonly host: string
    readonly by: string
    readonly reason: string
  }>
  readonly dropped_parameters: Readonly<Record<string, ReadonlyArray<string>>>
  readonly draws?: {
    readonly count: number
    readonly shares: ReadonlyArray<{
      readonly model: string
      readonly host: string
      readonly first: number
      readonly share: number
    }>
  }
  readonly error?: ErrorBody["error"]
}

/** `data` of the explanation of this body. */
export const explainedBy = async (
  gateway: Pick<TestGateway, "call">,
  body: unknown,
  query = "",
  headers: Record<string, string> = {},
): Promise<ExplainedBody> => {
  const response = await gateway.call(`/route/explain${query}`, {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json", ...headers },
  })
  expect(response.status).toBe(200)
  expect(response.headers.get("x-gw-request-id")).toStartWith("req_")
  const { data } = (await response.json()) as { readonly data: ExplainedBody }
  return data
}
