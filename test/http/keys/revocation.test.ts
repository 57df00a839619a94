/** A key that is deleted or disabled, or expires, while its requests run: on a real socket. docs/guarantees.md#g24 */
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import { errorOf, picodollars, readStream, streamOf } from "../../support/clients/answers.ts"
import { answersIn, rawCaller, requestOf } from "../../support/clients/rawCaller.ts"
import { readResponses } from "../../support/clients/responsesForm.ts"
import { until, within } from "../../support/clocks/until.ts"
import { delta, type Ruled, startRuled } from "../../support/gateways/keyRules.ts"
import { closeAfterEach } from "../../support/gateways/watched.ts"

// A wait that never ends is named within a minute.
setDefaultTimeout(1_800_000)

closeAfterEach()

/** A stream of the key whose first words have reached the caller. */
const running = async (gateway: Ruled, key: string, said = "twelve bytes") => {
  const before = gateway.held.length
  const asked = gateway.ask(key, { stream: true, user: "held" })
  await until(() => gateway.held.length > before, "the call to the host")
  const stream = gateway.held.at(-1)
  stream?.send(delta(said))
  const response = await asked
  return { stream, response }
}

const says = "The key was disabled or deleted while the request ran."

describe.each([
  ["deleted", "DELETE", undefined],
  ["disabled", "PATCH", { disabled: true }],
] as const)("a key that is %s", (_, method, body) => {
  test("ends its streams with 403 in them, charged for what was delivered", async () => {
    const gateway = await startRuled()
    const key = await gateway.newKey({ limit: 10_000_000_000_000n })
    const { response, stream } = await running(gateway, key)
    const other = await running(gateway, gateway.key)
    expect((await gateway.manage(key, method, body)).status).toBe(200)

    const { last, text } = await streamOf(response)
    expect(text).toBe("twelve bytes")
    expect(last.error).toEqual({ code: 403, message: says, metadata: { error_type: "permission_denied" } })
    // Estimated: 2 bytes of prompt are a token of 1 µ$, 12 bytes of output are 3 tokens of 2 µ$.
    expect(last.usage?.cost).toBe(0.000007)
    const [row] = await gateway.rowsOf(key)
    expect(row).toMatchObject({ outcome: "cut", estimated: true, cost: picodollars(0.000007) })
    if (stream !== undefined) await within(stream.left, "the end of the call to the host")

    expect((await gateway.ask(key)).status).toBe(401)
    // A stream of another key goes on.
    other.stream?.send(delta(" more"))
    other.stream?.send(JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }))
    other.stream?.close()
    expect((await streamOf(other.response)).text).toBe("twelve bytes more")
  })

  test("ends its streams of the Responses form with a code that no agent repeats: Codex repeated them five times", async () => {
    const gateway = await startRuled()
    const key = await gateway.newKey()
    const before = gateway.held.length
    const asked = gateway.call("/responses", {
      method: "POST",
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify({ model: "acme/small", input: "hi", stream: true, user: "held" }),
    })
    await until(() => gateway.held.length > before, "the call to the host")
    gateway.held.at(-1)?.send(delta("twelve bytes"))
    const response = await asked
    expect((await gateway.manage(key, method, body)).status).toBe(200)
    const { response: ended } = readResponses(await response.text())
    expect(ended).toMatchObject({
      status: "failed",
      error_type: "permission_denied",
      error: { code: "invalid_prompt", message: says },
    })
  })

  test("ends a request that waits for its whole answer with 403, at no cost", async () => {
    const gateway = await startRuled()
    const key = await gateway.newKey({ limit: 10_000_000_000_000n })
    const asked = gateway.ask(key, { user: "held" })
    await until(() => gateway.held.length === 1, "the call to the host")
    await gateway.manage(key, method, body)
    expect(await errorOf(await asked)).toMatchObject({ code: 403, message: says })
    if (gateway.held[0] !== undefined) await within(gateway.held[0].left, "the end of the call to the host")
    expect(await gateway.rowsOf(key)).toEqual([])
    expect(gateway.called).toEqual(["a"])
  })

  test.each(["chat/completions", "route/explain", "messages/count_tokens", "embeddings"])(
    "ends a request whose body is still arriving with 403, and its connection: %s",
    async (route) => {
      const gateway = await startRuled()
      const key = await gateway.newKey()
      const caller = rawCaller(gateway.url)
      const headers = {
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
        "content-length": "1000",
        expect: "100-continue",
      }
      caller.send(requestOf(`POST /api/v1/${route}`, headers, '{"model":'))
      await caller.until((received) => received.includes("100 Continue"))
      await gateway.manage(key, method, body)
      const [answer] = answersIn(await caller.closed)
      expect([answer?.status, answer?.headers.get("connection")]).toEqual([403, "close"])
      expect(gateway.called).toEqual([])
    },
  )
})

test("a key that is changed otherwise keeps its streams", async () => {
  const gateway = await startRuled()
  const key = await gateway.newKey()
  const { response, stream } = await running(gateway, key)
  await gateway.manage(key, "PATCH", { name: "other", limit: 0, allowed_models: ["none/*"] })
  stream?.send(JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }))
  stream?.close()
  const { last } = await streamOf(response)
  expect(last.error).toBeUndefined()
  expect(last.choices[0]?.finish_reason).toBe("stop")
})

test("a stream that was admitted before its key expired may end after it; the next request is refused", async () => {
  const gateway = await startRuled()
  const expiresAt = gateway.clock.unsafeCurrentTimeMillis() + 10_000
  const key = await gateway.newKey({ expiresAt })
  const { response, stream } = await running(gateway, key)
  gateway.clock.advance(9999)
  expect((await gateway.ask(key)).status).toBe(200)
  gateway.clock.advance(1)
  expect(await errorOf(await gateway.ask(key))).toMatchObject({
    code: 401,
    message: "User not found. This is no active key of this gateway.",
  })
  stream?.send(delta(" more"))
  stream?.send(JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }))
  stream?.close()
  expect(readStream(await response.text()).text).toBe("twelve bytes more")
  expect((await gateway.rowsOf(key)).map(({ outcome }) => outcome)).toEqual(["finished", "finished"])
})
