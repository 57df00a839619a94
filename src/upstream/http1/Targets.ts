/** What stays the same for every request to one URL: where it goes, and its heads. */
import type { Network } from "../../domain/hosts/networkReach.ts"
import type { OriginFigures } from "../Exchange.ts"
import { type Origin, OriginCounts } from "./Connection.ts"
import { RequestHeads } from "./RequestHeads.ts"

export interface Target {
  readonly origin: Origin
  readonly heads: RequestHeads
}

/** More URLs than a gateway has at once; reloads bring others. When it is reached, the cache is cleared. */
const maxTargets = 4_096

export class Targets {
  readonly #public = new Map<string, Target>()
  readonly #private = new Map<string, Target>()
  readonly #origins = new Map<string, Origin>()
  /** By the keys of origins. They outlive these, so that no counter steps back. */
  readonly #counted = new Map<string, { readonly name: string; readonly counts: OriginCounts }>()

  /** Of every origin that there ever was, in the order in which they came. */
  get figures(): ReadonlyArray<OriginFigures> {
    return Array.from(this.#counted, ([key, { name, counts }]) => ({
      ...{ origin: name, idle: this.#origins.get(key)?.idle.length ?? 0 },
      ...counts,
    }))
  }

  /** Throws where `url` is no absolute HTTP URL. */
  of(url: string, network: Network): Target {
    const known = network === "private" ? this.#private : this.#public
    const found = known.get(url)
    if (found !== undefined) return found
    if (known.size >= maxTargets) this.#clear()
    const target = this.#make(url, network)
    known.set(url, target)
    return target
  }

  /** Origins without an idle connection are forgotten too. Another one of the same address does not share connections with it. */
  #clear(): void {
    this.#public.clear()
    this.#private.clear()
    for (const [key, { idle }] of this.#origins) if (idle.length === 0) this.#origins.delete(key)
  }

  #make(url: string, network: Network): Target {
    const { protocol, host, hostname, port, pathname, search, username, password } = new URL(url)
    if (protocol !== "https:" && protocol !== "http:") throw new Error("the URL is neither http nor https")
    if (username !== "" || password !== "") throw new Error("the URL has a user name or password in it")
    const secure = protocol === "https:"
    const key = `${network} ${protocol}//${host}`
    let origin = this.#origins.get(key)
    if (origin === undefined) {
      const number = port === "" ? (secure ? 443 : 80) : Number(port)
      const name = `${secure ? "https" : "http"}://${hostname}:${number}`
      const counted = this.#counted.get(key) ?? { name, counts: new OriginCounts() }
      this.#counted.set(key, counted)
      origin = { hostname, port: number, secure, network, idle: [], counts: counted.counts }
      this.#origins.set(key, origin)
    }
    const start = ` ${pathname}${search} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n`
    return { origin, heads: new RequestHeads(start) }
  }
}
