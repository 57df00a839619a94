import type { HostFailed } from "../../domain/failures/Failure.ts"
import { isUnaryName } from "../../domain/request/operations.ts"
import { excessIn } from "../../wire/jsonDepth.ts"
import { answerBody, jsonOr } from "../calls/answerBody.ts"
import type { Begun } from "./AttemptStart.ts"
import { excessive } from "./beyondLimit.ts"

/** The JSON of a whole answer, or the text where it is none, or why it is not read. `isCounted`: its nesting is known not to be too deep. */
export const parsedAnswer = (
  { attempt, endpoint }: Pick<Begun, "attempt" | "endpoint">,
  text: string,
  isCounted: boolean,
): unknown | HostFailed => {
  const readText = isUnaryName(attempt.context.operation) ? endpoint.unary?.readText : undefined
  if (readText === undefined) return isCounted ? jsonOr(text) : answerBody(text)
  const excess = isCounted ? undefined : excessIn(text, true)
  return excess === undefined ? readText(text) : excessive(excess)
}
