/** Alerts in the log and at webhooks, under a clock that the test advances, with receivers on real sockets. docs/alerts.md */
import { afterAll, afterEach, expect, test } from "bun:test"
import { createHmac } from "node:crypto"
import * as Effect from "effect/Effect"
import { HostFailed } from "../../../src/domain/failures/Failure.ts"
import type { HostReason } from "../../../src/domain/failures/HostReason.ts"
import type { RequestOutcome } from "../../../src/domain/failures/RequestOutcome.ts"
import { type DataAtRest, Storage } from "../../../src/services/storage/Storage.ts"
import { Upstream } from "../../../src/upstream/Upstream.ts"
import { sampleKey, sampleRow } from "../../sql/samples.ts"
import { ManualClock } from "../../support/clocks/manualClock.ts"
import { closeServices } from "../../support/clocks/services.ts"
import { until } from "../../support/clocks/until.ts"
import { type AlertRig, startAlerts } from "../../support/gateways/alertRig.ts"
import { sampleAttempt } from "../../support/gateways/observed.ts"
import { oneEndpoint } from "../../support/hosts/oneEndpoint.ts"
import { startReceiver, type WebhookReceiver } from "../../support/hosts/webhookReceiver.ts"
import { lastingStorage } from "../../support/storage/lastingStorage.ts"

const secret = "whsec-canary-5f1e0c77"
const pathSecret = "T000-canary-path-8842"
process.env["TEST_ALERT_SECRET"] = secret

afterAll(closeServices)

const closing: Array<() => unknown> = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

const database = (): Promise<DataAtRest> => Effect.runPromise(Effect.provide(Storage, lastingStorage))

const started = async (
  alerts: object = {},
  storage?: DataAtRest,
  options?: Parameters<typeof startAlerts>[2],
): Promise<AlertRig> => {
  const rig = await startAlerts(alerts, storage ?? (await database()), options)
  closing.push(rig.stop)
  return rig
}

const receiver = async (): Promise<WebhookReceiver> => {
  const made = await startReceiver(`/services/${pathSecret}`)
  closing.push(made.close)
  return made
}

const hook = ({ url }: WebhookReceiver, more: object = {}) => ({
  url,
  secret: { env: "TEST_ALERT_SECRET" },
  network: "private",
  ...more,
})

const breaker = { host: "acme/eu", model: "acme/small", reason: "unreachable", openMs: 300_000 } as const

/** The lines of alerts: level, rule and state. */
const alertsIn = ({ log }: AlertRig): ReadonlyArray<string> =>
  log.flatMap((line) => {
    const [, level, fields] = /^(\w+) .*? (\{.*"event":"alert_\w+".*\})$/.exec(line) ?? []
    if (level === undefined || fields === undefined) return []
    const { rule, state } = JSON.parse(fields)
    return [`${level} ${rule} ${state}`]
  })

test("a state is told when it begins and when it is over, and once however often it is seen", async () => {
  const rig = await started()
  await rig.rounds(1)
  expect(alertsIn(rig)).toEqual([])
  rig.seen.breakers = [breaker]
  await rig.rounds(6)
  expect(alertsIn(rig)).toEqual(["WARN breaker_open firing"])
  rig.seen.breakers = []
  await rig.rounds(4)
  expect(alertsIn(rig)).toHaveLength(1)
  await rig.rounds(3)
  expect(alertsIn(rig)).toEqual(["WARN breaker_open firing", "INFO breaker_open resolved"])
  rig.seen.breakers = [{ ...breaker, openMs: 299_000 }]
  await rig.rounds(20)
  expect(alertsIn(rig)).toHaveLength(2)
  rig.seen.breakers = [breaker]
  await rig.rounds(1)
  expect(alertsIn(rig)).toHaveLength(3)
})

test("the ledger, the disk and a certificate are watched without any configuration", async () => {
  const rig = await started()
  rig.seen.isWritable = false
  rig.seen.freeBytes = 1e6
  rig.seen.certificateEndsAt = rig.clock.unsafeCurrentTimeMillis() + 10 * 86_400_000
  await rig.rounds(1)
  expect(alertsIn(rig).toSorted()).toEqual(["ERROR disk_space firing", "WARN certificate_ends firing"])
  await rig.rounds(2)
  expect(alertsIn(rig)).toContain("ERROR ledger_behind firing")
})

test("requests that fail at hosts or in the gateway are an alert; those that callers or rules end count for neither side", async () => {
  const rig = await started()
  const ended = (count: number, outcome: RequestOutcome) => {
    for (let at = 0; at < count; at++) rig.end({ outcome })
  }
  ended(41, "ok")
  ended(500, "caller_bad_request")
  ended(500, "policy_rate_limited")
  ended(500, "gateway_stopping")
  ended(9, "host_unavailable")
  for (let at = 0; at < 50; at++) rig.end({ outcome: "host_unavailable", form: null })
  await rig.rounds(1)
  expect(alertsIn(rig)).toEqual([])
  ended(2, "gateway_defect")
  await rig.rounds(1)
  expect(alertsIn(rig)).toEqual(["ERROR error_rate firing"])
  // They are older than five minutes, and nobody has seen it since.
  await rig.rounds(18)
  expect(alertsIn(rig)).toEqual(["ERROR error_rate firing", "INFO error_rate resolved"])
})

test("a provider that refuses our account is an alert, for an hour after the last refusal", async () => {
  const rig = await started()
  const { host } = await oneEndpoint()
  const failed = (reason: HostReason) => sampleAttempt(host, { outcome: "failed", failure: new HostFailed({ reason }) })
  rig.end({ attempts: [failed("rate-limited")] })
  await rig.rounds(1)
  expect(alertsIn(rig)).toEqual([])
  rig.end({ attempts: [failed("account")] })
  await rig.rounds(100)
  expect(alertsIn(rig)).toEqual(["ERROR account_refused firing"])
  await rig.rounds(30)
  expect(alertsIn(rig)).toEqual(["ERROR account_refused firing", "INFO account_refused resolved"])
})

test("budgets of keys and the spend of a day are read of the ledger, once for each period", async () => {
  const storage = await database()
  const rig = await started({}, storage)
  const usd = 1_000_000_000_000n
  const now = rig.clock.unsafeCurrentTimeMillis()
  const key = sampleKey("a".repeat(64), { name: "ci", limit: 100n * usd, limitReset: null })
  const spend = async (id: string, cost: bigint, upstreamCost: bigint, admittedAt: number) => {
    const row = sampleRow(id, { key: key.id, cost, upstreamCost, admittedAt, settledAt: admittedAt })
    await Effect.runPromise(storage.ledger.append([row]))
    rig.end({ key, row })
  }
  for (const before of [1, 2, 3]) await spend(`r${before}`, 10n * usd, 10n * usd, now - before * 86_400_000)
  await spend("today", 19n * usd, 19n * usd, now)
  await rig.rounds(2)
  expect(alertsIn(rig)).toEqual([])
  await spend("more", usd, 4n * usd, now)
  await rig.rounds(2)
  expect(alertsIn(rig).toSorted()).toEqual(["WARN daily_spend firing", "WARN uncharged_cost firing"])
  await spend("budget", 30n * usd, 30n * usd, now)
  await rig.rounds(2)
  expect(alertsIn(rig).at(-1)).toBe("WARN key_budget firing")
  await spend("all", 20n * usd, 20n * usd, now)
  await rig.rounds(2)
  expect(alertsIn(rig).at(-1)).toBe("ERROR key_budget firing")
  expect(alertsIn(rig)).toHaveLength(4)
})

test("a webhook is told, signed so that another program can verify it, with neither secrets nor hashes", async () => {
  const hears = await receiver()
  const rig = await started({ webhooks: [hook(hears)] })
  rig.seen.breakers = [breaker]
  await rig.rounds(1)
  const [call] = await hears.called(1)
  const { "x-headgate-timestamp": timestamp, "x-headgate-signature": signature } = call?.headers ?? {}
  const expected = createHmac("sha256", secret).update(`${timestamp}.${call?.body}`).digest("hex")
  expect(signature).toBe(`v1=${expected}`)
  expect(Number(timestamp) * 1000).toBeLessThanOrEqual(rig.clock.unsafeCurrentTimeMillis())
  expect(call?.json).toMatchObject({
    state: "firing",
    rule: "breaker_open",
    severity: "warning",
    subject: { kind: "host", id: "acme/small acme/eu", name: "acme/eu (acme/small)" },
    value: 300,
    threshold: 300,
    unit: "seconds",
    resolved_at: null,
  })
  expect(call?.headers["x-headgate-id"]).toBe(`${call?.json["alert_id"]}.firing`)
  rig.seen.breakers = []
  await rig.rounds(7)
  const [, over] = await hears.called(2)
  expect(over?.json).toMatchObject({ state: "resolved", alert_id: call?.json["alert_id"], rule: "breaker_open" })
  const said = [...rig.log, ...hears.calls.map(({ body }) => body)].join("\n")
  expect(said).not.toContain("canary")
})

test("a body for Slack has the text, escaped", async () => {
  const hears = await receiver()
  const rig = await started({ webhooks: [{ url: hears.url, format: "slack", network: "private" }] })
  rig.seen.breakers = [{ ...breaker, host: "<!channel>&@here" }]
  await rig.rounds(1)
  const [call] = await hears.called(1)
  expect(call?.body).not.toContain("<!channel>")
  expect(call?.json["text"]).toContain("&lt;!channel&gt;&amp;")
  expect(call?.json["blocks"]).toBeArrayOfSize(2)
  // A name such as `@here` would call a whole channel.
  expect(call?.body.match(/"type":"mrkdwn","verbatim":true/g)).toHaveLength(2)
  expect(call?.headers["x-headgate-signature"]).toBeUndefined()
})

test("a webhook hears of its rules alone", async () => {
  const [disk, all] = [await receiver(), await receiver()]
  const rig = await started({ webhooks: [hook(disk, { rules: ["disk_space"] }), hook(all)] })
  rig.seen.breakers = [breaker]
  await rig.rounds(2)
  await all.called(1)
  rig.seen.freeBytes = 5
  await rig.rounds(2)
  await all.called(2)
  expect((await disk.called(1)).map(({ json }) => json["rule"])).toEqual(["disk_space"])
})

test.each([500, 302, 404, "reset", "hang"] as const)(
  "what a receiver does not take (%p) is sent again with the same id, and its end comes after it",
  async (behaviour) => {
    const hears = await receiver()
    hears.behave(behaviour)
    const rig = await started({ webhooks: [hook(hears)] })
    rig.seen.hung = hears.hung
    rig.seen.breakers = [breaker]
    await rig.rounds(2)
    rig.seen.breakers = []
    await rig.rounds(12)
    const before = (await hears.called(2)).length
    // The waits double: in 7 minutes there are few tries.
    expect(before).toBeLessThan(9)
    expect(rig.log.filter((line) => line.includes("does not take alerts"))).toHaveLength(1)
    hears.behave(200)
    await rig.rounds(21)
    const states = (await hears.called(before + 2)).map(({ json }) => json["state"])
    expect(states).toEqual([...Array.from({ length: before + 1 }, () => "firing"), "resolved"])
    expect(new Set(hears.calls.map(({ json }) => json["alert_id"])).size).toBe(1)
    expect(new Set(hears.calls.slice(0, -1).map(({ body }) => body)).size).toBe(1)
    expect(rig.log.filter((line) => line.includes("takes alerts again"))).toHaveLength(1)
    expect(rig.log.join("\n")).not.toContain("canary")
  },
)

test("a receiver that hangs does not keep another one from its alerts", async () => {
  const [hangs, hears] = [await receiver(), await receiver()]
  hangs.behave("hang")
  const rig = await started({ webhooks: [hook(hangs), hook(hears)] })
  rig.seen.hung = hangs.hung
  rig.seen.breakers = [breaker]
  await rig.rounds(1)
  await hangs.called(1)
  await hears.called(1)
})

test("what was not delivered when the process ended is sent by the next one", async () => {
  const storage = await database()
  const hears = await receiver()
  hears.behave("hang")
  const first = await started({ webhooks: [hook(hears)] }, storage)
  first.seen.hung = hears.hung
  first.seen.breakers = [breaker]
  await first.rounds(1)
  await hears.called(1)
  await first.stop()
  hears.behave(200)
  // Its lease ends after a minute.
  const clock = new ManualClock(first.clock.unsafeCurrentTimeMillis())
  const second = await started({ webhooks: [hook(hears)] }, storage, { clock })
  await second.rounds(3)
  const [before, after] = await hears.called(2)
  expect(after?.body).toBe(before?.body ?? "")
  await second.rounds(3)
  // The breaker is of the process that ended: its alert is over.
  await until(() => hears.calls.length === 3)
  expect(hears.calls[2]?.json["state"]).toBe("resolved")
  expect(alertsIn(second)).toEqual(["INFO breaker_open resolved"])
})

test("an alert that is not taken for a day is given up", async () => {
  const hears = await receiver()
  hears.behave(503)
  const rig = await started({ webhooks: [hook(hears)], certificate_ends: { days: [366] } })
  rig.seen.certificateEndsAt = rig.clock.unsafeCurrentTimeMillis()
  await rig.rounds(1)
  await hears.called(1)
  rig.clock.advance(86_400_000)
  await rig.rounds(2)
  await hears.called(2)
  expect(rig.log.filter((line) => line.includes("is given up"))).toHaveLength(1)
  hears.behave(200)
  rig.clock.advance(3_600_000)
  await rig.rounds(2)
  expect(hears.calls).toHaveLength(2)
})

test("while the database is away, alerts are logged and sent at once, and are kept when it is back", async () => {
  const hears = await receiver()
  const rig = await started({ webhooks: [hook(hears)] })
  rig.seen.breakers = [breaker]
  await rig.rounds(1)
  await hears.called(1)
  rig.seen.isDatabaseAway = true
  rig.seen.isWritable = false
  await rig.rounds(6)
  expect((await hears.called(2)).map(({ json }) => json["rule"])).toEqual(["breaker_open", "ledger_behind"])
  rig.seen.isDatabaseAway = false
  rig.seen.isWritable = true
  await rig.rounds(8)
  const [, , over] = await hears.called(3)
  expect(over?.json).toMatchObject({ rule: "ledger_behind", state: "resolved" })
  expect(hears.calls).toHaveLength(3)
  expect(alertsIn(rig)).toEqual([
    "WARN breaker_open firing",
    "ERROR ledger_behind firing",
    "INFO ledger_behind resolved",
  ])
})

test("a name that leads to a metadata service is not called, whatever the network", async () => {
  const lookup = async () => [{ address: "169.254.169.254" }]
  const url = "http://alerts.example/hook"
  const options = { upstream: Upstream.layerWith({ lookup }) }
  const rig = await started({ webhooks: [{ url, format: "slack", network: "private" }] }, undefined, options)
  rig.seen.breakers = [breaker]
  await rig.rounds(1)
  expect(rig.log.filter((line) => line.includes("one that is never called"))).toHaveLength(1)
})

test("a defect in one reading silenced every rule: the others are told all the same", async () => {
  const storage = await database()
  const sums = () => Effect.die(new Error("the sums are broken"))
  const rig = await started({}, { ...storage, activity: { ...storage.activity, sums } })
  rig.end({ row: sampleRow("spend", {}) })
  rig.seen.breakers = [breaker]
  await rig.rounds(1)
  expect(alertsIn(rig)).toEqual(["WARN breaker_open firing"])
  expect(rig.log.filter((line) => line.includes("a defect in the alerts about the spend of a day"))).toHaveLength(1)
})

test("an amount beyond all money was a defect in each round", async () => {
  const storage = await database()
  const rig = await started({ daily_spend: { factor: 1e308 }, uncharged_cost: { at_least_usd: 1e308 } }, storage)
  const now = rig.clock.unsafeCurrentTimeMillis()
  const usd = 1_000_000_000_000n
  for (const before of [0, 1, 2, 3]) {
    const at = now - before * 86_400_000
    const row = sampleRow(`r${before}`, { cost: usd, upstreamCost: 100n * usd, admittedAt: at, settledAt: at })
    await Effect.runPromise(storage.ledger.append([row]))
    rig.end({ row })
  }
  await rig.rounds(1)
  expect(rig.log).toEqual([])
})

test("an alert that was kept while the clock was a year ahead was never sent again after that", async () => {
  const storage = await database()
  const hears = await receiver()
  hears.behave(503)
  const now = new ManualClock().unsafeCurrentTimeMillis()
  const ahead = new ManualClock(now + 366 * 86_400_000)
  const first = await started({ webhooks: [hook(hears)] }, storage, { clock: ahead })
  first.seen.breakers = [breaker]
  await first.rounds(1)
  await hears.called(1)
  await first.stop()
  hears.behave(200)
  const second = await started({ webhooks: [hook(hears)] }, storage, { clock: new ManualClock(now) })
  await second.rounds(2)
  const [before, after] = await hears.called(2)
  expect(after?.body).toBe(before?.body ?? "")
})

test("a database that never answers kept its own alert back: it is logged and sent without it", async () => {
  const storage = await database()
  const hears = await receiver()
  const alerts = { ...storage.alerts, seen: () => Effect.never, resolve: () => Effect.never }
  const activity = { ...storage.activity, sums: () => Effect.never }
  const rig = await started({ webhooks: [hook(hears)] }, { ...storage, alerts, activity })
  rig.seen.isDatabaseSilent = true
  rig.seen.isWritable = false
  rig.end({ row: sampleRow("spend", {}) })
  await rig.rounds(6)
  expect(alertsIn(rig)).toEqual(["ERROR ledger_behind firing"])
  expect((await hears.called(1))[0]?.json["rule"]).toBe("ledger_behind")
})
