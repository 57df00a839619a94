/** Calls of the gateway's documented API, by the session's cookie. */
import { signal } from "@preact/signals"
import { changed, type Parameters } from "../lib/address.ts"
import { ApiFailure, asFailure, failureOf } from "./ApiFailure.ts"
import { apiBase } from "./base.ts"

/** How often an answer was 401: the session is over. Who shows the sign-in looks at this. */
export const sessionsEnded = signal(0)

interface Options {
  readonly method?: "GET" | "POST" | "PATCH" | "DELETE"
  readonly query?: Parameters
  /** Sent as JSON. */
  readonly body?: unknown
  readonly signal?: AbortSignal
  /** It is sent also where the page is left meanwhile. */
  readonly outlivesPage?: boolean
  /** A 401 is an answer to what was asked here, and ends no session. */
  readonly isSigningIn?: boolean
}

/** The answer to `path` below `/api/v1`, which begins with a slash. Throws `ApiFailure`; a call that was aborted throws what `fetch` does. */
export const callRaw = async (path: string, options: Options = {}): Promise<Response> => {
  const query = changed(new URLSearchParams(), options.query ?? {}).toString()
  let response: Response
  try {
    response = await fetch(`${apiBase}${path}${query === "" ? "" : `?${query}`}`, {
      method: options.method ?? "GET",
      credentials: "same-origin",
      cache: "no-store",
      keepalive: options.outlivesPage === true,
      headers: {
        accept: "application/json",
        ...(options.body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    })
  } catch (cause) {
    if (options.signal?.aborted === true) throw cause
    throw asFailure(cause)
  }
  if (response.ok) return response
  const failure = await failureOf(response)
  if (failure.status === 401 && options.isSigningIn !== true) sessionsEnded.value++
  throw failure
}

/**
 * The JSON of an answer. The gateway made it by the same schemas that describe the API, so it is not decoded again here: `Answer` is what
 * the caller of this function knows of them.
 */
export const call = async <Answer>(path: string, options: Options = {}): Promise<Answer> => {
  const response = await callRaw(path, options)
  try {
    // See above: the only place where the console takes an answer for what its description says.
    return (await response.json()) as Answer
  } catch (cause) {
    if (options.signal?.aborted === true) throw cause
    throw new ApiFailure(response.status, "The answer could not be read: it broke off, or is no JSON.", "Try again.")
  }
}

/** Answers that stand below `data`. */
export const data = async <Answer>(path: string, options: Options = {}): Promise<Answer> =>
  (await call<{ readonly data: Answer }>(path, options)).data
