/** What those who observe a gateway's requests are told. */
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
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
