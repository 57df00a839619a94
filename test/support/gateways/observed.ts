/** What those who observe a gateway's requests are told. */
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import type { Host } from "../../../src/domain/hosts/Host.ts"
import type { ObservedAttempt } from "../../../src/services/request/Observation.ts"
import { type RequestEnd, RequestEnds, type RequestObserver } from "../../../src/services/request/RequestEnds.ts"
import type { TestGateway } from "./gateway.ts"

/** Subscribes until the scope is closed. */
export const subscribed = (observer: RequestObserver): Effect.Effect<void, never, RequestEnds | Scope.Scope> =>
  Effect.flatMap(RequestEnds, ({ subscribe }) => subscribe(observer))

/** The ends of the gateway's requests from now on, as long as it runs. */
export const observe = async ({ run }: Pick<TestGateway, "run">): Promise<ReadonlyArray<RequestEnd>> => {
  const ends: Array<RequestEnd> = []
  const scope = Effect.runSync(Scope.make())
  await run(
    Scope.extend(
      subscribed((end) => ends.push(end)),
      scope,
    ),
  )
  return ends
}

/** Which of these are told more than once. */
export const toldAgain = (ends: ReadonlyArray<RequestEnd>): ReadonlyArray<string> => {
  const ids = ends.map(({ requestId }) => requestId)
  return ids.filter((id, at) => ids.indexOf(id) !== at)
}

const times: RequestEnd["times"] = {
  ...{ receivedAt: 0, admitted: 1, firstAttempt: 2, firstByte: 9, lastByte: 9, firstToken: null, booked: 8, ended: 9 },
}

/** The end of a request, for code that is tried without one: a chat that was answered, unless `more` says otherwise. */
export const sampleEnd = (more: Partial<RequestEnd> = {}): RequestEnd => ({
  ...{ requestId: "req-1", callerRequestId: "", address: null, generationId: null, trace: null },
  ...{ route: "POST /api/v1/chat/completions", form: "chat", key: null, app: null, user: null, isStreamed: false },
  ...{
    model: null,
    host: null,
    status: 200,
    failure: null,
    outcome: "ok",
    attempts: [],
    row: null,
    hasRow: false,
    tokens: null,
  },
  ...{ cost: 0n, times, bytes: { in: 1, out: 1 }, strategy: "", seed: 0, routed: "" },
  ...more,
})

/** One call of a host, which answered unless `more` says otherwise. */
export const sampleAttempt = (host: Host, more: Partial<ObservedAttempt> = {}): ObservedAttempt => ({
  ...{
    host,
    outcome: "finished",
    failure: undefined,
    began: 2,
    reserved: 0n,
    spanId: null,
    reserving: null,
    modelSaid: null,
  },
  ...{ firstEvent: null, received: 7, ended: 8 },
  ...more,
})
