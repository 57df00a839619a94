/** A failure in terms of HTTP, as `http/errorBody.ts` describes it. Each format renders a body for it. */
import type { Availability } from "../domain/failures/Availability.ts"
import type { JsonObject } from "../domain/json/json.ts"

export interface Rendered {
  readonly status: number
  readonly errorType: string
  readonly message: string
  /** Besides `error_type`. `null`: no metadata at all, as the recorded 401 has none. */
  readonly metadata: JsonObject | null
  readonly headers?: Readonly<Record<string, string>>
  /** Why the models could not be served, where that is what is wrong. */
  readonly availability?: Availability
  /** The message in the Messages format, if it differs. */
  readonly inMessages?: string
}

/** What SDKs read before they look at the status. */
export const shouldRetryHeader = "x-should-retry"

/** Whether repeating the request helps nobody. */
export const isFinal = ({ headers }: Rendered): boolean => headers?.[shouldRetryHeader] === "false"
