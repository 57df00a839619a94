/** What stays the same for every request to one URL: where it goes, and the start of its text. */
import type { Network } from "../addresses.ts"
import type { Origin } from "./Connection.ts"

export interface Target {
  readonly origin: Origin
  /** Request target and the headers that are ours, to be put behind the method. */
  readonly head: string
}

/** More URLs than a gateway has. When it is reached, the cache is cleared. */
const maxTargets = 4_096

export class Targets {
  readonly #public = new Map<string, Target>()
  readonly #private = new Map<string, Target>()
  readonly #origins = new Map<string, Origin>()

  /** Throws where `url` is no absolute HTTP URL. */
  of(url: string, network: Network): Target {
    const known = network === "private" ? this.#private : this.#public
    const found = known.get(url)
    if (found !== undefined) return found
    if (known.size >= maxTargets) known.clear()
    const target = this.#make(url, network)
    known.set(url, target)
    return target
  }

  #make(url: string, network: Network): Target {
    const { protocol, host, hostname, port, pathname, search, username, password } = new URL(url)
    if (protocol !== "https:" && protocol !== "http:") throw new Error("the URL is neither http nor https")
    if (username !== "" || password !== "") throw new Error("the URL has a user name or password in it")
    const secure = protocol === "https:"
    const key = `${network} ${protocol}//${host}`
    let origin = this.#origins.get(key)
    if (origin === undefined) {
      origin = { hostname, port: port === "" ? (secure ? 443 : 80) : Number(port), secure, network, idle: [] }
      this.#origins.set(key, origin)
    }
    return { origin, head: ` ${pathname}${search} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n` }
  }
}
