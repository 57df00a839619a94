/** Correct plugins whose hosts do a thing in an unusual way: the conformance kit passes them. */
import { expect, test } from "bun:test"
import { cp, mkdtemp, rm } from "node:fs/promises"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import type { JsonObject } from "headgate/plugin"
import { notCovered, type ProviderSubject, providerChecks } from "headgate/testing"
import { bodyOf, chat, failureOf, failuresOf, subject, withBody, withProtocol, withProvider, writing } from "./acme.ts"

const namesModel = "chat: encode() asks for the model by the host's own name"
const sendsParameters = "chat: encode() sends every parameter, or says that it drops it"

const asksForStream = "chat: encode() asks for a stream only where one is wanted"

/** Whole answers and streams are asked for by their paths, with the same body. */
const pathsOf = (whole: string, streamed: string) =>
  writing((encoded) => {
    const { stream, stream_options: _, ...body } = bodyOf(encoded)
    return { ...encoded, path: stream === true ? streamed : whole, body: JSON.stringify(body) }
  })

const renamed = ({ model, ...body }: JsonObject) => ({ ...body, route: { engine: model } })
const scaled = ({ temperature, ...body }: JsonObject) => ({
  ...body,
  ...(typeof temperature === "number" ? { heat: temperature * 5 } : {}),
})

test.each<[string, ProviderSubject, string]>([
  ["the model in a member of another name", withBody(renamed), namesModel],
  [
    "the model in a header",
    writing((encoded) => {
      const { model, ...body } = bodyOf(encoded)
      return { ...encoded, headers: { ...encoded.headers, "x-engine": String(model) }, body: JSON.stringify(body) }
    }),
    namesModel,
  ],
  ["a parameter on a scale of the host's own", withBody(scaled), sendsParameters],
  ["a stream by a query of its own", pathsOf("/complete?mode=whole", "/complete?mode=pieces"), asksForStream],
  ["a stream by a query that says so", pathsOf("/complete", "/complete?format=ndjson"), asksForStream],
  [
    "the time of a signature in a header, in Unix seconds",
    withProvider({
      sign: (encoded, { now }) => {
        const headers = { ...encoded.headers, "x-signed-at": `${Math.floor(now / 1000)}`, "x-signature": `s-${now}` }
        return Effect.succeed({ ...encoded, headers })
      },
    }),
    "chat: no secret is shown, whatever the host repeats",
  ],
])("%s", async (_, correct, check) => {
  expect(await failureOf(await providerChecks(correct), check)).toBeUndefined()
})

test("paths that do not say which of them streams stand in the table of what is not covered", async () => {
  const whats = async (whole: string, streamed: string) => {
    const rows = await notCovered(pathsOf(whole, streamed))
    return rows.flatMap(({ what }) => (what.includes("is asked for with") ? [what] : []))
  }
  expect(await whats("/complete?mode=whole", "/complete?mode=pieces")).toEqual([
    "a whole answer is asked for with POST /complete?mode=whole",
    "a stream is asked for with POST /complete?mode=pieces",
  ])
  expect(await whats("/complete", "/complete-stream")).toEqual(["a whole answer is asked for with POST /complete"])
})

test("a decoder that gives a list in a list is told so by each check that reads it", async () => {
  const nested: unknown = [[{ choices: [] }]]
  // What the compiler refuses.
  const decoder = () => ({ event: () => nested as [], end: () => [] })
  const failures = await failuresOf(await providerChecks(withProtocol({ decoder })))
  expect(failures.get("chat: words is given no finish where it is broken off")).toContain(
    'The decoder\'s event() gave [[{"choices":[]}]]; it must return an array of chunks',
  )
  expect(failures.get("chat: words ends once")).toContain('("plugin": a hook threw, or gave what')
  const streamed = failures.get("chat: a stream is passed on as it comes, and the call ends when the caller leaves")
  expect(streamed).toContain("the gateway refuses what the plugin gives; ")
  expect(streamed).toContain("event=plugin_fault")
  expect(streamed).not.toContain("migration")
})

test("a request without the model's name is told apart from one with a wrong name", async () => {
  const nameless = withBody(({ model: _, ...body }) => body)
  expect(await failureOf(await providerChecks(nameless), namesModel)).toContain("does not name the model")
})

test("a parameter that is a constant is found, and every bad parameter is named", async () => {
  const constant = withBody(({ temperature, seed, ...body }) => ({
    ...body,
    ...(temperature === undefined ? {} : { temperature: 1 }),
    ...(seed === undefined ? {} : { seed: 1 }),
  }))
  const failure = await failureOf(await providerChecks(constant), sendsParameters)
  expect(failure).toContain("temperature 0.375, sends the same as with 0.75")
  expect(failure).toContain("seed 90210, sends the same as with 4711")
})

test("something that no vendor can lack is refused", async () => {
  const lacks = JSON.parse('["engine"]')
  const failures = await failuresOf(await providerChecks({ ...subject, lacks }))
  expect(failures.get("loads with the configuration given, and can do something")).toContain('`lacks` has "engine"')
})

test("a folder without a test passes without samples, in a protocol of its own too", async () => {
  const folder = await mkdtemp(join(import.meta.dir, "../../node_modules/.headgate-bare-"))
  try {
    await cp(join(import.meta.dir, "geminiLike"), folder, { recursive: true })
    const bare = join(import.meta.dir, "../../src/testing/bare.ts")
    const child = Bun.spawn([process.execPath, "test", bare], { cwd: folder, stdout: "ignore", stderr: "pipe" })
    const [report, code] = await Promise.all([new Response(child.stderr).text(), child.exited])
    expect([code, report.match(/\d+ (fail|skip)/g)]).toEqual([0, ["1 skip", "0 fail"]])
    expect(report).toContain("no test with samples")
  } finally {
    await rm(folder, { recursive: true })
  }
}, 1_800_000)

test("a finish that end() invents is found where the host sends one", async () => {
  const ending = (isInvented: boolean, hasLast: boolean, isSilent = false) =>
    withProtocol({
      decoder: (head, context) => {
        const decoder = chat.decoder(head, context)
        let isFinished = false
        return {
          event: (name, data) => {
            const chunks = decoder.event(name, data)
            const isLast = Array.isArray(chunks) && chunks.some(({ choices }) => choices[0]?.finish_reason === "stop")
            if (isLast && isSilent) return chunks.map((chunk) => ({ ...chunk, choices: [] }))
            isFinished ||= isLast
            return chunks
          },
          end: () =>
            isInvented && !isFinished ? [{ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }] : decoder.end(),
          ...(hasLast ? { done: () => isFinished } : {}),
        }
      },
    })
  const failure = async (isInvented: boolean, hasLast: boolean, isSilent?: boolean) =>
    failureOf(
      await providerChecks(ending(isInvented, hasLast, isSilent)),
      "chat: words is given no finish where it is broken off",
    )
  expect(await failure(true, true)).toContain("a finish_reason that the host did not send")
  expect(await failure(false, true)).toBeUndefined()
  expect(await failure(true, false)).toContain("a finish_reason that the host did not send")
  // A host that has no word for its end: the end of the stream is all that there is.
  expect(await failure(true, false, true)).toBeUndefined()
})
