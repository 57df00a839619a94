/**
 * `POST /route/explain`: how a request would be routed now, and why. Takes the body of the explained route, calls no host and
 * holds nothing. `docs/routing.md` describes the answer.
 */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { BadRequest, type Failure, NotFound, NotPermitted } from "../../domain/Failure.ts"
import { KeyId } from "../../domain/Ids.ts"
import type { KeyRecord } from "../../domain/Key.ts"
import { formatUsd } from "../../domain/Money.ts"
import type { Conversations } from "../../services/Conversations.ts"
import type { Explain, Explanation as Explained } from "../../services/explain.ts"
import type { InFlight } from "../../services/InFlight.ts"
import type { KeyStore } from "../../services/KeyStore.ts"
import type { Meter } from "../../services/Meter.ts"
import type { Steps } from "../../services/Steps.ts"
import { chatError, render } from "../ErrorBody.ts"
import { requestIdHeaders } from "../headers.ts"
import type { Admissions } from "./admission.ts"
import type { Explanation } from "./Explanation.ts"
import type { Respond } from "./Respond.ts"
import { withHeaders } from "./requestHeaders.ts"

export interface ExplainServices {
  readonly admissions: Admissions
  readonly keys: Context.Tag.Service<KeyStore>
  readonly meter: Context.Tag.Service<Meter>
  readonly inFlight: Context.Tag.Service<InFlight>
  readonly conversations: Context.Tag.Service<Conversations>
  readonly explain: Explain
}

export const makeExplainRoute = ({
  admissions,
  keys,
  meter,
  inFlight,
  conversations,
  explain,
}: ExplainServices): Respond => {
  /** The key to explain for: the caller's own, or the one that a management key names. Its own has no limit and no lists. */
  const keyFor = (caller: KeyRecord, named: KeyId | undefined) => {
    if (caller.kind === "ordinary") {
      return named === undefined || named === caller.id ? Effect.succeed(caller) : Effect.fail(ownKeyOnly)
    }
    if (named === undefined) return Effect.succeed(caller)
    return Effect.filterOrFail(
      keys.read(named),
      ({ kind }) => kind === "ordinary",
      () => unknownKey,
    )
  }

  return function* (protocol, state, request, watchCaller): Steps<Response, Failure> {
    const { lifetime, key: caller } = yield* admissions.admit(state, request, watchCaller, "any")
    const { seed, keyHash } = yield* queryOf(request.url)
    const key = yield* keyFor(caller, keyHash)
    const { body } = yield* admissions.read(request, lifetime, {})
    const asked = yield* withHeaders(yield* protocol.decode(body, request.headers), request.headers)
    const budget = yield* meter.budget({ _tag: "Key", key })
    const explanation = yield* explain(asked, budget, {
      seed,
      conversation: conversations.of(key.id, asked),
      permissions: key,
      key: key.id,
    })
    inFlight.leave(lifetime)
    return Response.json({ data: explained(explanation) }, { headers: requestIdHeaders(state.requestId) })
  }
}

const ownKeyOnly = new NotPermitted({ rule: "Only management keys can ask for another key." })
const unknownKey = new NotFound({ what: "This key" })

interface Query {
  readonly seed: number | undefined
  readonly keyHash: KeyId | undefined
}

/** `seed`: a 32-bit unsigned integer. `key_hash`: the hash of a key, as the list of keys shows it. */
const queryOf = (url: string): Either.Either<Query, BadRequest> => {
  const { searchParams } = new URL(url)
  const [seed, ...seeds] = searchParams.getAll("seed")
  const [hash, ...hashes] = searchParams.getAll("key_hash")
  if (seeds.length > 0 || (seed !== undefined && !(/^\d{1,10}$/.test(seed) && Number(seed) < 2 ** 32))) {
    return Either.left(badQuery("seed", "must be one whole number from 0 to 4294967295"))
  }
  if (hashes.length > 0 || hash === "") return Either.left(badQuery("key_hash", "must be the hash of one key"))
  return Either.right({
    seed: seed === undefined ? undefined : Number(seed),
    keyHash: hash === undefined ? undefined : KeyId.make(hash),
  })
}

const badQuery = (path: string, message: string) => new BadRequest({ issues: [{ path, message }] })

/** The `data` of the answer. */
const explained = ({ strategy, seed, attempts, excluded, failure }: Explained): Explanation => ({
  strategy,
  seed,
  attempts: attempts.map(({ host, expectedCost, why, key }, at) => ({
    model: host.model,
    host: host.tag,
    provider: host.providerName,
    rank: at + 1,
    estimated_cost_usd: expectedCost === null ? null : formatUsd(expectedCost),
    why,
    ...(key === undefined ? {} : { api_key: key }),
  })),
  excluded: excluded.map(({ model, host, by, reason }) => ({ model, host, by, reason })),
  dropped_parameters: droppedBy(attempts),
  ...(failure === undefined ? {} : { error: chatError(render(failure)) }),
})

/** By tag of the host. Hosts of several models may share a tag: then it has what any of them would not be sent. */
const droppedBy = (attempts: Explained["attempts"]): Readonly<Record<string, ReadonlyArray<string>>> => {
  const dropped = new Map<string, ReadonlyArray<string>>()
  for (const { host, dropped: names } of attempts) {
    if (names.length > 0) dropped.set(host.tag, [...new Set([...(dropped.get(host.tag) ?? []), ...names])])
  }
  return Object.fromEntries(dropped)
}
