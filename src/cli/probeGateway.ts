/** Asks what listens at the address of a gateway on this machine, and whether it is one. */
import { requestIdHeader } from "../http/headers.ts"
import { withoutProxy } from "./gatewayClient.ts"

export interface Probed {
  readonly status: number
  readonly text: string
  /** Whether it answers as a Headgate does: with a request id, whatever the path. */
  readonly isGateway: boolean
}

const patienceMs = 5000

/** `undefined`: nothing answers. `base`: the address without a path. */
export const probeGateway = async (
  base: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Probed | undefined> => {
  withoutProxy(base)
  try {
    const response = await fetch(base + path, { headers, redirect: "manual", signal: AbortSignal.timeout(patienceMs) })
    const isGateway = response.headers.has(requestIdHeader)
    return { status: response.status, text: await response.text(), isGateway }
  } catch {
    return undefined
  }
}
