/**
 * `POST /route/explain`: how a request would be routed now, and why. Takes the body of any form, which `form` of the query names,
 * calls no host and holds nothing. `docs/routing.md` describes the answer.
 */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { BadRequest, type Failure, NotFound, NotPermitted } from "../../domain/failures/Failure.ts"
import { KeyId } from "../../domain/Ids.ts"
import type { KeyRecord } from "../../domain/keys/Key.ts"
import { formatUsd } from "../../domain/price/Money.ts"
import type { KeyStore } from "../../services/keys/KeyStore.ts"
import type { Meter } from "../../services/money/Meter.ts"
import type { Conversations } from "../../services/request/Conversations.ts"
import type { InFlight } from "../../services/request/InFlight.ts"
import type { Steps } from "../../services/request/Steps.ts"
import type { Explain, Explanation as Explained } from "../../services/routing/explain.ts"
import { chatError, render } from "../ErrorBody.ts"
import { requestIdHeaders } from "../headers.ts"
import type { Admissions } from "./admission.ts"
import type { Explanation } from "./Explanation.ts"
import type { Form } from "./Form.ts"
import type { Respond } from "./Respond.ts"

export interface ExplainServices {
  readonly admissions: Admissions
  readonly keys: Context.Tag.Service<KeyStore>
  readonly meter: Context.Tag.Service<Meter>
  readonly inFlight: Context.Tag.Service<InFlight>
  readonly conversations: Context.Tag.Service<Conversations>
  readonly explain: Explain
}

/** Requests of which forms are explained, by their names; the first one where none is named. And the form of errors. */
export interface ExplainedForms extends Pick<Form, "error"> {
  readonly forms: ReadonlyMap<string, Form>
}

export const makeExplainRoute = ({
  admissions,
  keys,
  meter,
  inFlight,
  conversations,
  explain,
}: ExplainServices): Respond<ExplainedForms> => {
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

  return function* ({ forms }, state, request, watchCaller): Steps<Response, Failure> {
    const { lifetime, key: caller } = yield* admissions.admit(state, request, watchCaller, "any")
    const { seed, keyHash, form } = yield* queryOf(request.url, forms)
    const key = yield* keyFor(caller, keyHash)
    const { body } = yield* admissions.read(request, lifetime, {})
    const { request: asked } = yield* form.decode(body, request.headers)
    const budget = yield* meter.budget({ _tag: "Key", key })
    const explanation = yield* explain(asked, budget, {
      seed,
      conversation: asked.operation === "chat" ? conversations.of(key.id, asked) : undefined,
      permissions: key,
      key: key.id,
    })
    inFlight.leave(lifetime)
    return Response.json({ data: explained(explanation, form) }, { headers: requestIdHeaders(state.requestId) })
  }
}

const ownKeyOnly = new NotPermitted({ rule: "Only management keys can ask for another key." })
const unknownKey = new NotFound({ what: "This key" })

interface Query {
  readonly seed: number | undefined
  readonly keyHash: KeyId | undefined
  readonly form: Form
}

/** `form`: the name of one of `forms`. `seed`: a 32-bit unsigned integer. `key_hash`: the hash of a key, as the list of keys shows it. */
const queryOf = (url: string, forms: ExplainedForms["forms"]): Either.Either<Query, BadRequest> => {
  const { searchParams } = new URL(url)
  const [seed, ...seeds] = searchParams.getAll("seed")
  const [hash, ...hashes] = searchParams.getAll("key_hash")
  if (seeds.length > 0 || (seed !== undefined && !(/^\d{1,10}$/.test(seed) && Number(seed) < 2 ** 32))) {
    return Either.left(badQuery("seed", "must be one whole number from 0 to 4294967295"))
  }
  if (hashes.length > 0 || hash === "") return Either.left(badQuery("key_hash", "must be the hash of one key"))
  const [first = ""] = forms.keys()
  const [name = first, ...names] = searchParams.getAll("form")
  const form = names.length > 0 ? undefined : forms.get(name)
  if (form === undefined) return Either.left(badQuery("form", `must be one of ${[...forms.keys()].join(", ")}`))
  return Either.right({
    form,
    seed: seed === undefined ? undefined : Number(seed),
    keyHash: hash === undefined ? undefined : KeyId.make(hash),
  })
}

const badQuery = (path: string, message: string) => new BadRequest({ issues: [{ path, message }] })

/** The `data` of the answer. */
const explained = (
  { strategy, seed, attempts, excluded, failure }: Explained,
  { ownNames }: Pick<Form, "ownNames">,
): Explanation => ({
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
  dropped_parameters: droppedBy(attempts, ownNames),
  ...(failure === undefined ? {} : { error: chatError(render(failure)) }),
})

/** By tag of the host. Hosts of several models may share a tag: then it has what any of them would not be sent. */
const droppedBy = (
  attempts: Explained["attempts"],
  ownNames: Form["ownNames"],
): Readonly<Record<string, ReadonlyArray<string>>> => {
  const dropped = new Map<string, ReadonlyArray<string>>()
  for (const { host, dropped: canonical } of attempts) {
    const names = canonical.map((name) => ownNames?.get(name) ?? name)
    if (names.length > 0) dropped.set(host.tag, [...new Set([...(dropped.get(host.tag) ?? []), ...names])])
  }
  return Object.fromEntries(dropped)
}
