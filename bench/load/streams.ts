/**
 * Callers of paced streams, in a process of their own; prints one line of JSON. wrk cannot do this: it sees bodies only
 * when they are over. Arguments: `--url U --key K --callers N --each N --chunks N --spread MS --seconds N`.
 * The callers' starts lie evenly within `spread`, and each takes `each` streams, one after the other.
 */
import { join } from "node:path"
import { parseArgs } from "node:util"
import { runToEnd } from "./processes.ts"
import { requestBody, streamedText } from "./script.ts"

export interface StreamResult {
  readonly streams: number
  /** Text chunks, which are what one divides by: every proxy hands on as many. */
  readonly chunks: number
  /** Network reads; fewer than chunks where some arrived together. */
  readonly reads: number
  readonly seconds: number
  /** Median over the streams, from the call to the first bytes of the body. */
  readonly firstByteMs: number
  /** What was wrong, per stream that was wrong. */
  readonly problems: ReadonlyArray<string>
}

export interface StreamLoad {
  readonly url: string
  readonly key: string
  readonly callers: number
  readonly each: number
  readonly chunks: number
  readonly spreadMs: number
  /** All callers stop then, finished or not. */
  readonly seconds: number
  readonly root: string
}

/** Fails when one stream was not whole. */
export const streamLoad = async (load: StreamLoad): Promise<StreamResult> => {
  const { url, key, callers, each, chunks, spreadMs, seconds } = load
  const numbers = { callers, each, chunks, spread: spreadMs, seconds }
  const command = [process.execPath, join(load.root, "bench/load/streams.ts"), "--url", url, "--key", key]
  for (const [name, value] of Object.entries(numbers)) command.push(`--${name}`, `${value}`)
  const result: StreamResult = JSON.parse(await runToEnd(command, load.root, seconds + 10))
  if (result.problems.length > 0) {
    throw new Error(`${url}: ${result.problems.length} streams were not whole; the first: ${result.problems[0]}`)
  }
  return result
}

/** What is wrong with a stream that has been read to its end; `undefined`: nothing. */
export const problemOf = (text: string, chunks: number): string | undefined => {
  if (!text.endsWith("data: [DONE]\n\n")) return `does not end with [DONE]: ${JSON.stringify(text.slice(-200))}`
  let content = ""
  let texts = 0
  let finishes = 0
  let usages = 0
  for (const event of text.split("\n\n")) {
    if (!event.startsWith("data: ") || event === "data: [DONE]") continue
    const { choices, usage } = JSON.parse(event.slice(6))
    const choice = choices?.[0]
    const piece = choice?.delta?.content
    if (typeof piece === "string" && piece !== "") {
      content += piece
      texts += 1
    }
    if (typeof choice?.finish_reason === "string") finishes += 1
    if (typeof usage?.total_tokens === "number") usages += 1
  }
  if (content !== streamedText(chunks) || texts !== chunks)
    return `${texts} of ${chunks} chunks, text ${content.length} long`
  return finishes === 1 && usages === 1 ? undefined : `${finishes} finishes, ${usages} usages`
}

const call = async (
  url: string,
  key: string,
  signal: AbortSignal,
  seen: { reads: number; firstByteMs: Array<number> },
) => {
  const began = performance.now()
  const response = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${key}` },
    body: requestBody(true),
    signal,
  })
  if (response.status !== 200 || response.body === null) return `${response.status} ${await response.text()}`
  const parts: Array<Uint8Array> = []
  for await (const part of response.body) {
    if (parts.length === 0) seen.firstByteMs.push(performance.now() - began)
    seen.reads += 1
    parts.push(part)
  }
  return Buffer.concat(parts).toString()
}

const main = async () => {
  const text = { type: "string" } as const
  const { values } = parseArgs({
    options: { url: text, key: text, callers: text, each: text, chunks: text, spread: text, seconds: text },
  })
  const { url = "", key = "" } = values
  const [callers, each, chunks, spread, seconds] = [
    values.callers,
    values.each,
    values.chunks,
    values.spread,
    values.seconds,
  ].map(Number)
  if (!callers || !each || !chunks || !seconds || spread === undefined) throw new Error("an argument is missing")
  const signal = AbortSignal.timeout(seconds * 1000)
  const seen = { reads: 0, firstByteMs: [] as number[] }
  const problems: Array<string> = []
  let whole = 0

  const caller = async (index: number) => {
    await Bun.sleep((index * spread) / callers)
    for (let turn = 0; turn < each; turn++) {
      const problem = await call(url, key, signal, seen)
        .then((body) => problemOf(body, chunks))
        .catch(String)
      if (problem === undefined) whole += 1
      else problems.push(problem)
    }
  }

  const began = performance.now()
  await Promise.all(Array.from({ length: callers }, (_, index) => caller(index)))
  const result: StreamResult = {
    streams: whole,
    chunks: whole * chunks,
    reads: seen.reads,
    seconds: (performance.now() - began) / 1000,
    firstByteMs: seen.firstByteMs.toSorted((a, b) => a - b)[seen.firstByteMs.length >> 1] ?? 0,
    problems,
  }
  console.log(JSON.stringify(result))
}

if (import.meta.main) await main()
