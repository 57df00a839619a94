/** Every end of a request at every phase of it: afterwards its place is free and nothing is reserved. */
import { describe, expect, test } from "bun:test"
import * as Layer from "effect/Layer"
import { rawCaller, requestOf } from "../support/clients/rawCaller.ts"
import { ManualClock, pass } from "../support/clocks/manualClock.ts"
import { until } from "../support/clocks/until.ts"
import { openAccount } from "../support/gateways/account.ts"
import { closeAfterEach, opened, startWatched } from "../support/gateways/watched.ts"
import { configFor, scriptedHost, streamAnswer, wholeAnswer } from "../support/hosts/host.ts"
import { delta, tail, whole } from "../support/hosts/rawAnswers.ts"
import { type Peer, rawHost, streamHead } from "../support/hosts/rawHost.ts"
import { gatedStorage } from "../support/storage/gatedStorage.ts"

closeAfterEach()

type Phase = "key" | "body" | "spend" | "head" | "silent" | "middle" | "settling"
const phases: ReadonlyArray<Phase> = ["key", "body", "spend", "head", "silent", "middle", "settling"]

const enter = async (
  phase: Phase,
  stream: boolean,
  limits: Record<string, unknown>,
  setting: Layer.Layer<never> = Layer.empty,
) => {
  const { layer, gates } = gatedStorage()
  const host = opened(
    rawHost((peer: Peer) => {
      if (phase === "head") return
      if (!stream) {
        if (phase === "silent" || phase === "middle") peer.write(whole.slice(0, -20))
        else peer.write(whole)
        return
      }
      peer.write(streamHead)
      if (phase === "silent") return
      peer.write(delta("one"))
      if (phase !== "middle") peer.write(tail)
    }),
  )
  const second = opened(scriptedHost((body) => (body["stream"] === true ? streamAnswer(["two"]) : wholeAnswer("two"))))
  const gateway = await startWatched({
    storage: layer,
    config: configFor({ a: host, b: second }, { server: { drain_s: 0 }, limits: { max_in_flight: 1, ...limits } }),
    setting,
  })
  const account = await openAccount(gateway)
  const fresh = await gateway.newKey({ limit: 10_000_000_000_000n })
  const body = (order: string) =>
    JSON.stringify({
      model: "acme/small",
      messages: [{ role: "user", content: "hi" }],
      stream,
      max_tokens: 50,
      provider: { order: [order], allow_fallbacks: false },
    })
  if (phase === "key") gates.findKey.close()
  if (phase === "spend") gates.spend.close()
  if (phase === "settling") gates.append.close()
  const caller = rawCaller(gateway.url)
  const head = { Authorization: `Bearer ${fresh}`, "Content-Type": "application/json" }
  const bytes = requestOf("POST /api/v1/chat/completions", head, body("a"))
  caller.send(phase === "body" ? bytes.slice(0, -10) : bytes)
  if (phase === "key") await until(() => gates.findKey.waiting() > 0, "the key's lookup")
  else if (phase === "spend") await until(() => gates.spend.waiting() > 0, "the reading of the spend")
  else if (phase === "settling") await until(() => gates.append.waiting() > 0, "the append")
  else if (phase === "body") {
    // What came before a request that was answered has been looked at.
    await caller.connected
    for (let after = 0; after < 5; after++) await (await gateway.call("/nothing-here")).text()
  } else await until(() => host.requests() === 1, "the call")
  if (phase === "middle" || phase === "silent") await Bun.sleep(60)
  const openGates = () => {
    gates.findKey.open()
    gates.spend.open()
    gates.append.open()
  }
  const expectFree = async () => {
    await until(async () => {
      const response = await gateway.chat(JSON.parse(body("b")), {
        headers: { authorization: `Bearer ${account.secret}` },
      })
      await response.text()
      return response.status === 200
    }, "the place")
    expect(gateway.log()).not.toContain("defect")
    await until(() => host.open() === 0 || phase === "settling", "the host's connection")
  }
  return { gateway, caller, account, fresh, openGates, expectFree, host }
}

const heldOf = async (gateway: Awaited<ReturnType<typeof startWatched>>, secret: string): Promise<string> => {
  const response = await gateway.call("/key", { headers: { authorization: `Bearer ${secret}` } })
  const said = (await response.json()) as { data: Record<string, unknown> }
  return JSON.stringify(said.data)
}

for (const commitAfterMs of [1, 10_000]) {
  const limits = { commit_after_ms: commitAfterMs }
  for (const stream of [false, true]) {
    if (!stream && commitAfterMs === 1) continue
    describe(`stream ${stream}, head after ${commitAfterMs} ms`, () => {
      for (const phase of phases) {
        test(`caller leaves: ${phase}`, async () => {
          const { gateway, caller, openGates, expectFree, fresh } = await enter(phase, stream, limits)
          caller.hangUp()
          await Bun.sleep(150)
          openGates()
          await expectFree()
          expect(await heldOf(gateway, fresh)).toContain('"limit_remaining":')
        })
        test(`deadline: ${phase}`, async () => {
          const clock = new ManualClock()
          const timed = { ...limits, deadline_ms: 4000, stream_ms: 4000 }
          const { caller, openGates, expectFree } = await enter(phase, stream, timed, Layer.setClock(clock))
          await pass(clock, 4300)
          openGates()
          if (phase !== "settling") {
            const cut = /408|imed out|"native_finish_reason":"deadline"/
            const text = await caller.until((got) => cut.test(got))
            expect(text).toMatch(cut)
          }
          await expectFree()
          caller.hangUp()
        })
        test(`drain: ${phase}`, async () => {
          const { gateway, caller, openGates } = await enter(phase, stream, limits)
          const stopped = gateway.stop()
          // What the request waits for comes after it was cut, or after a second where it is cut only then.
          await Promise.race([caller.until((got) => got.includes("503")), Bun.sleep(1000)])
          openGates()
          let over = false
          void stopped.then(() => {
            over = true
          })
          await until(() => over, "the stop")
          const text = await caller.closed
          expect(text).toMatch(phase === "settling" ? /fine|DONE|503/ : /503/)
        })
      }
    })
  }
}
