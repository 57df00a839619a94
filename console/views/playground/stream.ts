/** One streamed answer of the data plane, which takes a key and not the session. */
import { asFailure, failureOf } from "../../api/ApiFailure.ts"
import { apiBase } from "../../api/base.ts"
import { type Answer, hasContent, noAnswer, withChunk } from "../../lib/answer.ts"
import { EventCutter } from "../../lib/sse.ts"

export interface Run {
  readonly answer: Answer
  readonly isRunning: boolean
  /** Milliseconds. */
  readonly firstMs: number | null
  readonly totalMs: number | null
  /** Why there was no answer, and what to do. */
  readonly failure: string | null
}

export const idle: Run = { answer: noAnswer, isRunning: false, firstMs: null, totalMs: null, failure: null }

/** Tells `show` of the answer as it grows, at most once for each read. */
export const run = async (
  secret: string,
  body: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
  show: (run: Run) => void,
): Promise<void> => {
  const started = performance.now()
  let answer = noAnswer
  let firstMs: number | null = null
  const tell = (isRunning: boolean, failure: string | null = null) =>
    show({ answer, isRunning, firstMs, totalMs: isRunning ? null : performance.now() - started, failure })
  tell(true)
  try {
    const response = await fetch(`${apiBase}/chat/completions`, {
      method: "POST",
      credentials: "omit",
      headers: { authorization: `Bearer ${secret}`, "content-type": "application/json", "x-title": "Headgate console" },
      body: JSON.stringify(body),
      signal,
    })
    if (!response.ok || response.body === null) {
      const failure = await failureOf(response)
      tell(false, `${failure.message} ${failure.toDo}`)
      return
    }
    const cutter = new EventCutter()
    for await (const text of textOf(response.body)) {
      for (const data of cutter.push(text)) answer = withChunk(answer, data)
      if (firstMs === null && hasContent(answer)) firstMs = performance.now() - started
      tell(true)
    }
    tell(false)
  } catch (cause) {
    const failure = asFailure(cause)
    tell(
      false,
      signal.aborted
        ? "Stopped: the key is charged for the prompt and the output until then."
        : `${failure.message} ${failure.toDo}`,
    )
  }
}

async function* textOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  const reader = stream.getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    yield decoder.decode(value, { stream: true })
  }
}
