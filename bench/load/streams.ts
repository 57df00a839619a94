/**
 * Callers of paced streams, in a process of their own that prints one line of JSON. wrk cannot do this: it sees a body
 * only when it is complete. The one argument is a `StreamLoad` as JSON.
 */
import { join } from "node:path"
import { runToEnd } from "./processes.ts"
import { percentile } from "./report.ts"
import { type Address, root } from "./roles.ts"
import { type Model, models, requestBody, streamedText } from "./script.ts"

export interface StreamLoad extends Address {
  readonly model: Model
  readonly callers: number
  /** Streams that each caller takes, one after the other. */
  readonly each: number
  /** The callers' starts lie evenly within it. */
  readonly spreadMs: number
}

export interface StreamResult {
  readonly streams: number
  /** Text chunks. Every proxy passes on as many, so costs are divided by them. */
  readonly chunks: number
  /** Network reads; fewer than chunks where some arrived together. */
  readonly reads: number
  readonly seconds: number
  /** Over the streams, from the call to the first bytes of the body. */
  readonly p50Ms: number
  readonly p99Ms: number
  /** One line for each stream that was wrong. */
  readonly problems: ReadonlyArray<string>
}

/** Milliseconds from the call to the last byte, where the proxy adds none. */
export const streamMs = (model: Model): number => (models[model].chunks + 1) * models[model].intervalMs

/** All callers stop at this time, finished or not. */
const bound = ({ model, each, spreadMs }: StreamLoad): number => (streamMs(model) * each + spreadMs) * 3 + 10_000

/** Fails when one stream was not complete. */
export const streamLoad = async (load: StreamLoad): Promise<StreamResult> => {
  const command = [process.execPath, join(root, "bench/load/streams.ts"), JSON.stringify(load)]
  const result: StreamResult = JSON.parse(await runToEnd(command, root, bound(load) / 1000 + 10))
  if (result.problems.length > 0) {
    throw new Error(`${load.url}: ${result.problems.length} streams were not complete; one: ${result.problems[0]}`)
  }
  return result
}

/** What is wrong with a stream that was read to its end; `undefined`: nothing. */
export const problemOf = (text: string, model: Model): string | undefined => {
  if (!text.endsWith("data: [DONE]\n\n")) return `does not end with [DONE]: ${JSON.stringify(text.slice(-200))}`
  const texts: Array<string> = []
  let finishes = 0
  let usages = 0
  for (const event of text.split("\n\n")) {
    if (!event.startsWith("data: ") || event === "data: [DONE]") continue
    const { choices, usage } = JSON.parse(event.slice(6))
    const choice = choices?.[0]
    const piece = choice?.delta?.content
    if (typeof piece === "string" && piece !== "") texts.push(piece)
    if (typeof choice?.finish_reason === "string") finishes += 1
    if (typeof usage?.total_tokens === "number") usages += 1
  }
  const { chunks } = models[model]
  // The first text of a timed stream is a time, and differs.
  const expected = streamedText(chunks)
  const right = "timed" in models[model] ? expected.endsWith(texts.slice(1).join("")) : texts.join("") === expected
  if (!right || texts.length !== chunks) return `${texts.length} of ${chunks} chunks, or another text`
  return finishes === 1 && usages === 1 ? undefined : `${finishes} finishes, ${usages} usages`
}

/** Reads one stream to its end; gives all of its bytes as text. `onRead` is called after each network read. */
export const readStream = async (
  { url, key, model }: Address & { readonly model: Model },
  signal: AbortSignal,
  onRead: (bytes: Uint8Array) => void,
): Promise<string> => {
  const response = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${key}` },
    body: requestBody(model, true),
    signal,
  })
  if (response.status !== 200 || response.body === null) return `${response.status} ${await response.text()}`
  const parts: Array<Uint8Array> = []
  for await (const part of response.body) {
    onRead(part)
    parts.push(part)
  }
  return Buffer.concat(parts).toString()
}

const run = async (load: StreamLoad): Promise<StreamResult> => {
  const signal = AbortSignal.timeout(bound(load))
  const firstBytesMs: Array<number> = []
  const problems: Array<string> = []
  let reads = 0
  let complete = 0

  const once = async () => {
    const began = performance.now()
    let first = true
    const text = await readStream(load, signal, () => {
      if (first) firstBytesMs.push(performance.now() - began)
      first = false
      reads += 1
    })
    return problemOf(text, load.model)
  }
  const caller = async (index: number) => {
    await Bun.sleep((index * load.spreadMs) / load.callers)
    for (let turn = 0; turn < load.each; turn++) {
      const problem = await once().catch(String)
      if (problem === undefined) complete += 1
      else problems.push(problem)
    }
  }

  const began = performance.now()
  await Promise.all(Array.from({ length: load.callers }, (_, index) => caller(index)))
  return {
    streams: complete,
    chunks: complete * models[load.model].chunks,
    reads,
    seconds: (performance.now() - began) / 1000,
    p50Ms: percentile(firstBytesMs, 50),
    p99Ms: percentile(firstBytesMs, 99),
    problems,
  }
}

if (import.meta.main) console.log(JSON.stringify(await run(JSON.parse(process.argv[2] ?? "{}"))))
