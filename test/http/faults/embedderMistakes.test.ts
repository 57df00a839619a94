/**
 * An app with services of its own, which throw, die or never end: each request is answered, by its deadline at the latest, the log has the
 * cause, and the gateway ends in time. docs/embedding.md#faults
 */
import { describe, expect, test } from "bun:test"
import * as HttpLayerRouter from "@effect/platform/HttpLayerRouter"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import { Gateway, KeyId, KeyStore, Meter, memoryStorage, Upstream } from "headgate"
import echo from "headgate/providers/echo"
import { ManualClock, pass } from "../../support/clocks/manualClock.ts"
import { within } from "../../support/clocks/until.ts"
import { closeAfterEach, opened } from "../../support/gateways/watched.ts"

closeAfterEach()

type MeterService = Meter["Type"]
type OwnMeter = (meter: MeterService) => Partial<MeterService>
type Authenticate = Parameters<typeof KeyStore.layerFrom>[0]

const everyone: Authenticate = () => Effect.succeed({ id: KeyId.make("everyone") })
const deadlineMs = 5000

interface Own {
  readonly meter?: OwnMeter
  readonly authenticate?: Authenticate
}

/** An app as docs/embedding.md has it, on a clock of the test's own. */
const start = ({ meter = () => ({}), authenticate = everyone }: Own) => {
  const clock = new ManualClock()
  const lines: Array<string> = []
  const logger = Logger.replace(
    Logger.defaultLogger,
    Logger.make(({ message, cause }) => {
      lines.push(`${JSON.stringify(message)} ${Cause.pretty(cause, { renderErrorCause: true })}`)
    }),
  )
  const ownMeter = Layer.effect(
    Meter,
    Effect.map(Meter, (given) => ({ ...given, ...meter(given) })),
  )
  const config = { server: { drain_s: 0 }, limits: { deadline_ms: deadlineMs } }
  const gateway = Gateway.serving.pipe(
    Layer.provideMerge(Gateway.routing),
    Layer.provideMerge(ownMeter),
    Layer.provideMerge(Gateway.state({ plugins: [echo], config })),
  )
  const surroundings = [KeyStore.layerFrom(authenticate), Upstream.layer, memoryStorage] as const
  const app = Gateway.routes.pipe(
    Layer.provide(gateway),
    Layer.provide(surroundings),
    Layer.provide(Layer.merge(Layer.setClock(clock), logger)),
  )
  const { handler, dispose } = HttpLayerRouter.toWebHandler(Layer.fresh(app), { disableLogger: true })
  opened({ stop: dispose })
  const ask = async (stream: boolean): Promise<{ status: number; text: string }> => {
    const body = { model: "headgate/echo", messages: [{ role: "user", content: "one two" }], stream }
    const headers = { authorization: "Bearer x", "content-type": "application/json" }
    const request = new Request("http://app.test/api/v1/chat/completions", {
      ...{ method: "POST", headers, body: JSON.stringify(body) },
    })
    const answer = await handler(request)
    return { status: answer.status, text: await answer.text() }
  }
  const key = async () => {
    const answer = await handler(new Request("http://app.test/api/v1/key", { headers: { authorization: "Bearer x" } }))
    return { status: answer.status, text: await answer.text() }
  }
  return { ask, key, clock, dispose, log: () => lines.join("\n") }
}

const away = new Error("the books are away")
const throws = (): never => {
  throw away
}
const dies = () => Effect.die(away)
const hangs = () => Effect.never

/** The failure that a stream tells in place of its finish, or that an answer is. */
const errorIn = (text: string): unknown => {
  const json = text.startsWith("{") ? text : (/^data: (\{.*"error".*\})$/m.exec(text)?.[1] ?? "null")
  return JSON.parse(json)?.error ?? null
}

const internal = { message: "Internal error.", code: 500 }

describe.each([false, true])("a service of the app's own, stream %p:", (stream) => {
  test.each<[string, Own]>([
    ["KeyStore.authenticate throws", { authenticate: throws }],
    ["KeyStore.authenticate dies", { authenticate: dies }],
    ["Meter.budget throws", { meter: () => ({ budget: throws }) }],
    ["Meter.budget dies", { meter: () => ({ budget: dies }) }],
    ["Meter.reserve throws", { meter: () => ({ reserve: throws }) }],
    ["Meter.reserve dies", { meter: () => ({ reserve: dies }) }],
    [
      "F8: Meter.settle throws, of which a stream broke off and the request never ended",
      { meter: () => ({ settle: throws }) },
    ],
    ["F8: Meter.settle dies, of which the log had nothing for a stream", { meter: () => ({ settle: dies }) }],
    ["Meter.settle dies later", { meter: () => ({ settle: () => Effect.zipRight(Effect.yieldNow(), dies()) }) }],
  ])("%s: the caller reads a true sentence, the log has the cause", async (_what, own) => {
    const { ask, dispose, log } = start(own)
    const { text } = await within(ask(stream), "the answer")
    expect(errorIn(text)).toMatchObject(internal)
    expect(log()).toContain("the books are away")
    // It does not wait for a request that is over: no time passes.
    await within(dispose(), "the end")
  })

  test.each<[string, Own]>([
    ["F9: KeyStore.authenticate", { authenticate: hangs }],
    ["F9: Meter.budget", { meter: () => ({ budget: hangs }) }],
    ["F9: Meter.reserve", { meter: () => ({ reserve: hangs }) }],
  ])("%s never ends: the deadline ends the request", async (_what, own) => {
    const { ask, clock, dispose } = start(own)
    const asked = ask(stream)
    await within(passUntil(clock, asked), "the answer")
    expect(errorIn((await asked).text)).toMatchObject({ message: "Operation timed out.", code: 408 })
    await within(dispose(), "the end")
  })

  test("F9: Meter.settle never ends: the caller is told that it was not booked, after the deadline and ten seconds", async () => {
    const { ask, clock, dispose, log } = start({ meter: () => ({ settle: hangs }) })
    const asked = ask(stream)
    await within(passUntil(clock, asked), "the answer")
    expect(errorIn((await asked).text)).toMatchObject({
      message: "The ledger cannot be written, so no paid request starts: the answer was not booked in time.",
      code: 503,
    })
    expect(log()).toContain("answer_unbooked")
    await within(dispose(), "the end")
  })

  test("Meter.reserve ends after the deadline: what it reserved is given back", async () => {
    const { promise: late, resolve: reserved } = Promise.withResolvers<void>()
    const released: Array<unknown> = []
    const { promise: givenBack, resolve } = Promise.withResolvers<void>()
    const { ask, clock } = start({
      meter: (given) => ({
        reserve: (...asked) =>
          Effect.zipRight(
            Effect.promise(() => late),
            given.reserve(...asked),
          ),
        release: (reservation) => {
          released.push(reservation)
          given.release(reservation)
          resolve()
        },
      }),
    })
    const asked = ask(stream)
    await within(passUntil(clock, asked), "the answer")
    expect(released).toEqual([])
    reserved()
    await within(givenBack, "the release")
    expect(released).toHaveLength(1)
  })
})

test("a Meter that throws at the release changes no answer: the log has the cause", async () => {
  const { ask, log } = start({ meter: () => ({ release: throws }) })
  expect((await ask(false)).status).toBe(200)
  expect(log()).not.toContain("the books are away")
})

test.each<[string, Own]>([
  ["KeyStore.authenticate", { authenticate: hangs }],
  ["Meter.budget", { meter: () => ({ budget: hangs }) }],
  ["Meter.reserve", { meter: () => ({ reserve: hangs }) }],
  ["Meter.settle", { meter: () => ({ settle: hangs }) }],
])(
  "a stop does not wait for %s, which never ends: it ends the request, and takes drain_s and two seconds at most",
  async (_what, own) => {
    const { ask, clock, dispose } = start(own)
    const asked = ask(false)
    // It runs.
    await pass(clock, 100)
    const ended = dispose()
    // As long as it may take, and no longer.
    await pass(clock, 2000)
    await within(ended, "the end")
    expect((await within(asked, "the answer")).status).toBe(503)
  },
)

test("Meter.spent never ends: a request to the control plane is ended by the deadline, and does not hold the stop", async () => {
  const { key, clock, dispose } = start({ meter: () => ({ spent: hangs }) })
  const asked = key()
  await within(passUntil(clock, asked), "the answer")
  expect(errorIn((await asked).text)).toMatchObject({
    message: "The database cannot be read: there was no answer within 5 seconds.",
    code: 503,
  })
  void key()
  await pass(clock, 100)
  const ended = dispose()
  await pass(clock, 2000)
  await within(ended, "the end")
})

/** Lets time pass until it is there. */
const passUntil = async (clock: ManualClock, asked: Promise<unknown>): Promise<void> => {
  let isOver = false
  void asked.finally(() => {
    isOver = true
  })
  while (!isOver) await pass(clock, 100)
}
