/**
 * `POST /route/explain`: how a request would be routed now, and why. Takes the body of any form, which `form` of the query names,
 * calls no host and reserves nothing. `docs/routing.md` describes the answer.
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { BadRequest, type Failure, NotFound, NotPermitted } from "../../domain/failures/Failure.ts"
import { KeyId } from "../../domain/ids.ts"
import { withoutKeys } from "../../domain/json/redaction.ts"
import { callerOf, type KeyRecord } from "../../domain/keys/key.ts"
import type { BudgetSnapshot } from "../../domain/money/reservation.ts"
import { formatUsd } from "../../domain/price/money.ts"
import { formRoutes, type RoutePath, routeName } from "../../domain/request/forms.ts"
import { chatError, chatErrorBody } from "../../formats/errorBody.ts"
import { queryOf as queryIn } from "../../formats/Target.ts"
import { conversationOf } from "../../services/request/Conversations.ts"
import type { Draws, Explanation as Explained } from "../../services/routing/Explain.ts"
import { render } from "../errorBody.ts"
import { requestIdHeaders } from "../headers.ts"
import { DataRequest, type DataRoute } from "./DataRequest.ts"
import type { DataServices } from "./DataServices.ts"
import type { Explanation } from "./Explanation.ts"
import type { Asked, Form } from "./Form.ts"
import { forms } from "./forms.ts"

/** What the query asks for. */
interface Query {
  readonly seed: number | undefined
  /** `undefined`: the caller's own. */
  readonly keyHash: KeyId | undefined
  /** How often the draw of the strategy is repeated; 0: not at all. */
  readonly draws: number
  readonly form: Form
}

export const explainRoute = (path: RoutePath): DataRoute => {
  const route: DataRoute = {
    ...{ name: routeName("POST", path), path, form: null, error: chatErrorBody },
    receive: (services, incoming) => new ExplainRequest(services, route, incoming),
  }
  return route
}

class ExplainRequest extends DataRequest<Asked> {
  // Each is set by the step that finds it out, and read by later ones only.
  private query!: Query
  /** The key to explain for. */
  private explainedFor!: KeyRecord
  private asked!: Asked
  private made!: Explained

  protected override get isForAnyKey(): boolean {
    return true
  }

  /** A session will do, too: it calls no host and costs nothing (docs/decisions/0081-sessions.md). */
  protected override caller(): Effect.Effect<KeyRecord, Failure> {
    return Effect.map(this.services.callers(this.incoming.http), ({ key }) => key)
  }

  protected override withinLimits(): void {
    this.after(queryOf(this.incoming.http.url), this.queryRead)
  }

  private queryRead(query: Query): void {
    this.query = query
    this.served.form = query.form.name
    this.ask(keyFor(this.services, this.key, query.keyHash), this.keyFound)
  }

  private keyFound(key: KeyRecord): void {
    this.explainedFor = key
    this.receive(this.query.form.body)
  }

  protected override admitted(asked: Asked): void {
    this.asked = asked
    this.served.models = asked.request.routing.models
    this.ask(this.budgetOf(this.explainedFor), this.explain)
  }

  private explain(budget: BudgetSnapshot): void {
    const { lifetime, services, explainedFor: key, asked } = this
    if (lifetime.ending !== undefined) {
      this.fail(lifetime.ending)
      return
    }
    const conversation = conversationOf(services.conversations, key.id, asked.request)
    const options = { seed: this.query.seed, conversation, permissions: key, key: key.id, caller: callerOf(key) }
    this.after(services.explain(asked.request, budget, options), this.explained)
  }

  private explained(made: Explained): void {
    this.made = made
    const { draws } = this.query
    if (draws === 0) this.answered(undefined)
    else this.ask(made.draws(draws), this.answered)
  }

  private answered(draws: Draws | undefined): void {
    const headers = requestIdHeaders(this.served.requestId)
    const data = dataOf(this.made, this.query.form)
    this.succeed(
      this.answerJson({ data: draws === undefined ? data : { ...data, draws: drawsOf(draws) } }, { headers }),
    )
  }
}

/** The key to explain for: the caller's own, or the one that a management key names. Its own has no limit and no lists. */
const keyFor = (
  { keys }: DataServices,
  caller: KeyRecord,
  named: KeyId | undefined,
): Effect.Effect<KeyRecord, Failure> => {
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

const ownKeyOnly = new NotPermitted({ rule: "Only management keys can ask for another key." })
const unknownKey = new NotFound({ what: "This key" })

const mostDraws = 1000

/** `form`: the name of one. `seed`: a 32-bit unsigned integer. `draws`: 1 to 1,000. `key_hash`: the hash of a key, as the list of keys shows it. */
const queryOf = (url: string): Either.Either<Query, BadRequest> => {
  const searchParams = queryIn(url)
  const [seed, ...seeds] = searchParams.getAll("seed")
  const [hash, ...hashes] = searchParams.getAll("key_hash")
  const [draws = "0", ...moreDraws] = searchParams.getAll("draws")
  if (seeds.length > 0 || (seed !== undefined && !(/^\d{1,10}$/.test(seed) && Number(seed) < 2 ** 32))) {
    return Either.left(badQuery("seed", "must be one whole number from 0 to 4294967295"))
  }
  if (hashes.length > 0 || hash === "") return Either.left(badQuery("key_hash", "must be the hash of one key"))
  const count = Number(draws)
  if (
    moreDraws.length > 0 ||
    (searchParams.has("draws") && !(/^\d{1,4}$/.test(draws) && count >= 1 && count <= mostDraws))
  )
    return Either.left(badQuery("draws", `must be one whole number from 1 to ${mostDraws}`))
  const known = [...formRoutes.keys()]
  const [asked = known[0], ...more] = searchParams.getAll("form")
  const name = more.length > 0 ? undefined : known.find((one) => one === asked)
  if (name === undefined) return Either.left(badQuery("form", `must be one of ${known.join(", ")}`))
  return Either.right({
    form: forms[name],
    seed: seed === undefined ? undefined : Number(seed),
    keyHash: hash === undefined ? undefined : KeyId.make(hash),
    draws: count,
  })
}

const badQuery = (path: string, message: string) => new BadRequest({ issues: [{ path, message }] })

/** The `data` of the answer. */
const dataOf = (
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

const drawsOf = ({ count, firsts }: Draws): NonNullable<Explanation["draws"]> => ({
  count,
  shares: firsts.map(({ host: { model, tag }, times }) => ({
    model,
    host: tag,
    first: times,
    share: count === 0 ? 0 : times / count,
  })),
})

/** By tag of the host. Hosts of several models may share a tag: then it has what any of them would not be sent. */
const droppedBy = (
  attempts: Explained["attempts"],
  ownNames: Form["ownNames"],
): Readonly<Record<string, ReadonlyArray<string>>> => {
  const dropped = new Map<string, ReadonlyArray<string>>()
  for (const { host, dropped: canonical } of attempts) {
    const names = canonical.map((name) => withoutKeys(ownNames?.get(name) ?? name))
    if (names.length > 0) dropped.set(host.tag, [...new Set([...(dropped.get(host.tag) ?? []), ...names])])
  }
  return Object.fromEntries(dropped)
}
