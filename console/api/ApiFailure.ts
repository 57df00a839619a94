/** A call of the API that failed: what happened, and what to do about it. */
export class ApiFailure extends Error {
  override readonly name = "ApiFailure"
  /** Of the answer; 0 where there was none. */
  readonly status: number
  readonly toDo: string
  /** Seconds, where the answer says so. */
  readonly retryAfter: number | null

  constructor(status: number, message: string, toDo: string, retryAfter: number | null = null) {
    super(message)
    this.status = status
    this.toDo = toDo
    this.retryAfter = retryAfter
  }
}

const retryWords = (seconds: number | null): string =>
  seconds === null ? "Wait a little, then try again." : `Try again in ${seconds} s.`

/** What to do about an answer with `status`, where the message does not say so itself. */
export const toDoFor = (status: number, retryAfter: number | null): string => {
  if (status === 0) return "Check that the gateway runs and that this machine reaches it, then try again."
  if (status === 400) return "Change what the message names, then send it again."
  if (status === 401) return "Sign in again."
  if (status === 403) return "Sign in with a key that may do this."
  if (status === 404) return "It may be past its time, or removed. Go back and look for it in the list."
  if (status === 409) return "Somebody else has changed it. Load the page again."
  if (status === 429) return retryWords(retryAfter)
  if (status === 503) return retryWords(retryAfter)
  return "Try again. If it stays, the gateway's log says more."
}

/** The message in an error body of the API; `null` where `body` is none. */
const messageIn = (body: unknown): string | null => {
  if (typeof body !== "object" || body === null || !("error" in body)) return null
  const { error } = body
  return typeof error === "object" && error !== null && "message" in error && typeof error.message === "string"
    ? error.message
    : null
}

/** The failure that an answer with another status than 2xx stands for. */
export const failureOf = async (response: Response): Promise<ApiFailure> => {
  const text = await response.text()
  const seconds = Number(response.headers.get("retry-after") ?? Number.NaN)
  const retryAfter = Number.isFinite(seconds) ? seconds : null
  let message: string | null = null
  try {
    message = messageIn(JSON.parse(text))
  } catch {
    // No JSON: something before the gateway has answered.
  }
  return new ApiFailure(
    response.status,
    message ??
      `The answer was ${response.status}${response.statusText === "" ? "" : ` ${response.statusText}`}, without a message of the gateway.`,
    toDoFor(response.status, retryAfter),
    retryAfter,
  )
}

/** Any thrown value as a failure that can be shown. */
export const asFailure = (cause: unknown): ApiFailure =>
  cause instanceof ApiFailure ? cause : new ApiFailure(0, "The gateway did not answer.", toDoFor(0, null))
