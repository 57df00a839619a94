/** The requests that run, as `GET /requests/live` lists them, and how one is stopped. */
import { isJsonObject, type JsonObject } from "../../../src/domain/json/json.ts"
import type { TestGateway } from "./gateway.ts"

export interface Live {
  readonly data: ReadonlyArray<JsonObject>
  readonly complete: boolean
}

type Asked = Pick<TestGateway, "call" | "managementKey">

export const liveOf = async ({ call, managementKey }: Asked, secret = managementKey): Promise<Live> => {
  const response = await call("/requests/live", { headers: { authorization: `Bearer ${secret}` } })
  const answer: unknown = await response.json()
  if (!isJsonObject(answer) || !Array.isArray(answer["data"])) throw new Error(`no list: ${JSON.stringify(answer)}`)
  return { data: answer["data"].filter(isJsonObject), complete: answer["complete"] === true }
}

export const stop = ({ call, managementKey }: Asked, id: unknown, secret = managementKey): Promise<Response> =>
  call(`/requests/live/${String(id)}`, { method: "DELETE", headers: { authorization: `Bearer ${secret}` } })

/** Stops the one request that runs: the status of the answer. */
export const stopOnly = async (gateway: Asked): Promise<number> => {
  const { data } = await liveOf(gateway)
  if (data.length !== 1) throw new Error(`${data.length} requests run`)
  return (await stop(gateway, data[0]?.["request_id"])).status
}
