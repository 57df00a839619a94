/** Addresses of all views, below `/console`. */
import { keyId } from "../../../src/domain/keys/keySecret.ts"
import type { Scene } from "./scene.ts"

/** Those of a management key; one key and one request are shown among them. `secret`: of that key. */
export const managementViews = async ({ gateway }: Scene, secret: string): Promise<ReadonlyArray<string>> => {
  const answer = await gateway.call("/requests", { headers: { authorization: `Bearer ${gateway.managementKey}` } })
  const { data } = (await answer.json()) as { readonly data: ReadonlyArray<{ readonly request_id: string }> }
  return [
    "/",
    "/?by=key",
    "/?by=app",
    "/live",
    "/requests",
    ...data.slice(0, 3).map(({ request_id }) => `/requests/${request_id}`),
    "/keys",
    "/keys?kind=management",
    "/keys/new",
    `/keys/${keyId(secret)}`,
    "/models",
    "/models/acme/small",
    "/providers",
    "/explain",
    "/playground",
    "/start",
    "/nothing",
  ]
}

/** Those of an ordinary key. */
export const ownViews = ["/", "/live", "/requests", "/models", "/explain", "/playground"]
