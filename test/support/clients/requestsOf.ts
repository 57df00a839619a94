/** How an SDK repeats a call. */

/** Calls with a `fetch` that counts. Returns the status at the end of the call, and how many requests were sent. */
export const requestsOf = async (
  ask: (counted: typeof fetch) => Promise<unknown>,
): Promise<{ readonly status: unknown; readonly requests: number }> => {
  let requests = 0
  const counted = Object.assign(
    (...given: Parameters<typeof fetch>) => {
      requests += 1
      return fetch(...given)
    },
    { preconnect: fetch.preconnect },
  )
  const status: unknown = await ask(counted).then(
    () => 200,
    (failure: { status?: unknown }) => failure.status,
  )
  return { status, requests }
}
