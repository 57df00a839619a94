/** Reading what a host answers as a whole: the JSON of an answer, and the failure in a refusal. */
import type { ProviderEndpoint } from "../../catalogue/endpoints.ts"
import { HostFailed } from "../../domain/failures/Failure.ts"
import type { ResponseHead } from "../../upstream/Exchange.ts"
import { parseJson, tooDeep } from "../../wire/jsonDepth.ts"

/** Bytes of an error body that are read. The rest is ignored. */
export const longestErrorBody = 65_536

/** The JSON in a text, or the text where it is no JSON or is nested too deeply. */
export const parsedBody = (text: string): unknown => {
  const value = boundedOr(text)
  return value === tooDeep ? text : value
}

/** The same of a whole answer, whose nesting is bounded by a limit of ours. */
export const answerBody = (text: string): unknown => {
  const value = boundedOr(text)
  return value === tooDeep ? deepAnswer : value
}

const deepAnswer = new HostFailed({ reason: "limit", cause: "the answer is nested too deep" })

const boundedOr = (text: string): unknown => {
  try {
    return parseJson(text)
  } catch {
    return text
  }
}

/** The JSON in a text whose nesting was already checked, or the text itself if it is not JSON. */
export const jsonOr = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** The failure for an answer with another status than 200. */
export const refusedBy = (endpoint: ProviderEndpoint, head: ResponseHead, body: string): HostFailed =>
  endpoint.provider.error(head.status, head.headers, parsedBody(body))
