/** The headers of every answer of a model. */
import { withoutKeys } from "../../domain/json/redaction.ts"
import type { Completed } from "../../services/dispatch/WholeAnswer.ts"
import type { RequestContext } from "../../services/request/RequestContext.ts"
import { droppedHeader, generationIdHeader, hostHeader, isHeaderSafe, setRequestId } from "../headers.ts"
import type { Form } from "./Form.ts"

/** The ids, and once a host answers its tag and the dropped members. */
export const setAnswerHeaders = (
  headers: Headers,
  { requestId, generationId }: RequestContext,
  answering: Pick<Completed, "host" | "dropped"> | undefined,
  { ownNames }: Form,
): void => {
  setRequestId(headers, requestId)
  headers.set(generationIdHeader, generationId)
  if (answering === undefined) return
  const { host, dropped } = answering
  if (isHeaderSafe(host.tag)) headers.set(hostHeader, host.tag)
  if (dropped.length > 0) headers.set(droppedHeader, droppedMembers(dropped, ownNames))
}

/** Characters of the header with the dropped members, and of one name in it. All known names fit. */
const longestDropped = 1000
const longestName = 64

/** Value of the header with the dropped members. Their names may come from the caller: one that is not safe in a header is not written. */
const droppedMembers = (dropped: ReadonlyArray<string>, ownNames: Form["ownNames"]): string => {
  let value = ""
  for (const [at, canonical] of dropped.entries()) {
    const member = ownNames?.get(canonical) ?? canonical
    const name = member.length <= longestName && isHeaderSafe(member) ? withoutKeys(member) : "unnamed"
    if (value.length + name.length > longestDropped) return `${value}, and ${dropped.length - at} more`
    value += at === 0 ? name : `, ${name}`
  }
  return value
}
