/** Asks what listens at the address of a gateway on this machine, and whether it is one. */
import { requestIdHeader } from "../../http/headers.ts"

export interface Probed {
  readonly status: number
  readonly text: string
  /** Whether it answers as a Headgate does: with a request id, whatever the path. */
  readonly isGateway: boolean
}

/** A proxy of the environment would look for this machine's gateway on its own machine. */
export const withoutProxy = (url: string): void => {
  const { hostname } = new URL(url)
  if (!/^(localhost|127\.[0-9.]+|\[::1\])$/.test(hostname)) return
  process.env["NO_PROXY"] = [process.env["NO_PROXY"] ?? process.env["no_proxy"] ?? "", hostname].join(",")
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
