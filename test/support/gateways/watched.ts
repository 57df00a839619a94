/** A gateway on a socket whose log a test can read; it and its hosts are closed after each test. */
import { afterAll, afterEach } from "bun:test"
import * as Cause from "effect/Cause"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import type { Json } from "../clients/badInputs.ts"
import { startGateway, type TestGateway, type TestGatewayOptions } from "./gateway.ts"

export interface Watched extends TestGateway {
  /** Everything that was logged so far, to any depth. */
  readonly log: () => string
  /** The hosts of a model, as they are listed. */
  readonly listed: (model?: string) => Promise<ReadonlyArray<Json>>
}

const open: Array<() => unknown> = []

/** Closes it after the test, the last opened first. */
export const opened = <A extends { readonly stop: () => unknown }>(one: A): A => {
  open.push(one.stop)
  return one
}

/** Call it once in each file that opens something. */
export const closeAfterEach = (): void =>
  afterEach(async () => {
    for (const close of open.splice(0).toReversed()) await close()
  })

/** The same for tests that run side by side. */
export const closeAfterAll = (): void =>
  afterAll(async () => {
    await Promise.all(open.splice(0).map((close) => close()))
  })

export const startWatched = async ({ setting = Layer.empty, ...options }: TestGatewayOptions): Promise<Watched> => {
  const lines: Array<string> = []
  const logger = Logger.make(({ message, cause, annotations }) => {
    const failure = Cause.pretty(cause, { renderErrorCause: true })
    lines.push(Bun.inspect({ message, failure, cause, annotations }, { depth: 20 }))
  })
  // Single failures of hosts are lines for debugging. What the test sets wins.
  const all = Layer.provideMerge(Layer.merge(setting, Logger.add(logger)), Logger.minimumLogLevel(LogLevel.Debug))
  const gateway = opened(await startGateway({ ...options, setting: all }))
  return {
    ...gateway,
    log: () => lines.join("\n"),
    listed: async (model = "acme/small") => {
      const response = await gateway.call(`/models/${model}/endpoints`)
      // Another form of the listing fails the test.
      const { data } = (await response.json()) as { readonly data: { readonly endpoints: ReadonlyArray<Json> } }
      return data.endpoints
    },
  }
}
