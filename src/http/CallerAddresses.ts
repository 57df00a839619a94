/** Where requests come from, for both planes: the address of a caller, and whether a key may be used from it. */
import type * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { ForwardedHeader } from "../domain/addresses/ForwardedHops.ts"
import { type IpAddress, IpRanges, parseAddress } from "../domain/addresses/ipRange.ts"
import { type Trusted, TrustedProxies } from "../domain/addresses/TrustedProxies.ts"
import { NotPermitted } from "../domain/failures/Failure.ts"
import type { KeyRecord } from "../domain/keys/key.ts"
import { logEvent } from "../process/log/logEvent.ts"
import { makeEffectRunner } from "../services/request/EffectRunner.ts"

/** What knows the other end of a request's socket: Bun's server, or what an app has in its place. `null`: it is not known. */
export interface PeerSource {
  readonly requestIP: (request: Request) => { readonly address: string } | null
}

/** The headers of a request. All lines of one are joined by commas. */
export interface HeaderSource {
  readonly get: (name: string) => string | null
}

export interface AddressOptions {
  readonly trustedProxies: Trusted
  readonly forwardedHeader: ForwardedHeader
}

export class CallerAddresses extends Context.Tag("headgate/CallerAddresses")<
  CallerAddresses,
  {
    readonly proxies: TrustedProxies
    /** The IP address of the caller; `null`: it is not known. `peer`: that of the other end of the socket. */
    readonly of: (headers: HeaderSource, peer: string | null) => string | null
    /** Why the key may not be used from `address`; `undefined`: it may. */
    readonly refusal: (key: KeyRecord, address: () => string | null) => NotPermitted | undefined
  }
>() {
  static readonly layer = (options: AddressOptions) =>
    Layer.effect(
      CallerAddresses,
      Effect.map(Effect.runtime<never>(), (runtime) => {
        const runner = makeEffectRunner(runtime)
        return make(options, (line) => void runner.run(line, () => {}))
      }),
    )
}

/** The address that a request of the platform's router comes from. */
export const addressOf = (
  addresses: CallerAddresses["Type"],
  { headers, remoteAddress }: HttpServerRequest.HttpServerRequest,
): string | null => addresses.of({ get: (name) => headers[name] ?? null }, Option.getOrNull(remoteAddress))

const make = ({ trustedProxies, forwardedHeader }: AddressOptions, log: (line: Effect.Effect<void>) => void) => {
  const proxies = new TrustedProxies(trustedProxies, forwardedHeader)
  // By the list of a key, which is read once and used for many requests.
  const rangesOf = new WeakMap<ReadonlyArray<string>, IpRanges>()

  const isAllowed = (allowed: ReadonlyArray<string>, address: IpAddress): boolean => {
    let ranges = rangesOf.get(allowed)
    if (ranges === undefined) {
      ranges = new IpRanges(allowed)
      rangesOf.set(allowed, ranges)
    }
    return ranges.has(address)
  }

  // Operators forget the setting: then every caller has the address of the proxy. Said once, since callers may send the headers, too.
  let isSaid = !proxies.isEmpty
  const sayOnce = (headers: HeaderSource, peer: string | null): void => {
    if (peer === null || (headers.get("x-forwarded-for") === null && headers.get("forwarded") === null)) return
    isSaid = true
    log(logEvent("proxy_not_trusted", { address: peer }))
  }

  return CallerAddresses.of({
    proxies,
    of: (headers, peer) => {
      if (!isSaid) sayOnce(headers, peer)
      return proxies.addressOf(peer, () => headers.get(forwardedHeader))
    },
    refusal: ({ allowedAddresses: allowed }, address) => {
      if (allowed === null || allowed.length === 0) return undefined
      const from = address()
      const parsed = from === null ? undefined : parseAddress(from)
      if (parsed === undefined) return unknownAddress
      return isAllowed(allowed, parsed)
        ? undefined
        : new NotPermitted({ rule: `This key may not be used from ${parsed.toString()}.`, by: "address" })
    },
  })
}

const unknownAddress = new NotPermitted({
  rule: "This key may be used from certain addresses alone, and the caller's address is not known.",
  by: "address",
})
