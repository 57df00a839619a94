import type { HostFailed } from "headgate/plugin"
import { objectIn, objectsIn } from "./json.ts"

/** What Google adds to the status: a key that is not valid comes as 400, the time to wait as a detail of the body. */
export const refined = (failure: HostFailed, error: unknown): HostFailed => {
  const said = objectIn(error)
  const code = typeof said["status"] === "string" ? said["status"] : failure.code
  const details = objectsIn(said["details"])
  const keyInvalid = details.some(({ reason }) => reason === "API_KEY_INVALID" || reason === "API_KEY_EXPIRED")
  const seconds = details
    .map(({ retryDelay }) => /^([\d.]+)s$/.exec(String(retryDelay))?.[1])
    .find((each) => each !== undefined)
  const ofAccount =
    keyInvalid || code === "UNAUTHENTICATED" || code === "PERMISSION_DENIED" || code === "FAILED_PRECONDITION"
  return failure.with({
    code,
    ...(ofAccount ? { reason: "account" } : {}),
    ...(seconds === undefined ? {} : { retryAfterSeconds: Math.ceil(Number(seconds)) }),
  })
}
