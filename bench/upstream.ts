/**
 * The host behind both proxies. Answers `POST /v1/chat/completions` and `POST /v1/messages` from prepared bytes, whole or as a
 * paced stream; the model that is asked for decides the pace. Under `/v1/unavailable` it answers 503. It runs in a process of its own, so that its work is not counted.
 * Arguments: `--port N [--cert FILE --key FILE]`; with a certificate it speaks TLS.
 */
import { parseArgs } from "node:util"
import {
  messagesAnswer,
  messagesScript,
  models,
  type StreamScript,
  streamScript,
  textEvent,
  wholeAnswer,
} from "./load/script.ts"

const text = { type: "string" } as const
const { values } = parseArgs({ options: { port: text, cert: text, key: text } })

const encoder = new TextEncoder()
const whole = encoder.encode(wholeAnswer())
const wholeMessage = encoder.encode(messagesAnswer())
const unavailable = encoder.encode(
  JSON.stringify({ error: { message: "The model is overloaded.", type: "overloaded" } }),
)
const wholeHeaders = { headers: { "Content-Type": "application/json" } }
const streamHeaders = { headers: { "Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache" } }
const scripts = new Map(Object.entries(models).map(([model, pace]) => [model, streamScript(pace)]))

const messagesScripts = new Map(Object.entries(models).map(([model, pace]) => [model, messagesScript(pace)]))

/**
 * One timer per stream, so that the chunks of many streams lie as far apart as their starts. A timed script sends, as its
 * first text, the milliseconds from `arrived` to that text.
 */
const stream = ({ head, chunks, tail, intervalMs, timed }: StreamScript, arrived: number): ReadableStream => {
  let timer: ReturnType<typeof setInterval> | undefined
  let finish = () => {}
  return new ReadableStream({
    type: "direct",
    pull: (controller) =>
      new Promise<void>((resolve) => {
        finish = resolve
        let next = 0
        controller.write(head)
        controller.flush()
        timer = setInterval(() => {
          const first = timed && next === 0
          const chunk = first ? textEvent(`${(performance.now() - arrived).toFixed(3)}`) : chunks[next]
          next += 1
          controller.write(chunk ?? tail)
          controller.flush()
          if (chunk !== undefined) return
          clearInterval(timer)
          controller.close()
          resolve()
        }, intervalMs)
      }),
    cancel: () => {
      clearInterval(timer)
      finish()
    },
  })
}

Bun.serve({
  hostname: "127.0.0.1",
  port: Number(values.port),
  idleTimeout: 0,
  ...(values.cert && values.key ? { tls: { cert: Bun.file(values.cert), key: Bun.file(values.key) } } : {}),
  routes: {
    "/v1/chat/completions": {
      POST: async (request) => {
        const asked = JSON.parse(await request.text())
        const arrived = performance.now()
        if (asked.stream !== true) return new Response(whole, wholeHeaders)
        const script = scripts.get(asked.model)
        if (script === undefined) return new Response(`no script for ${asked.model}`, { status: 404 })
        return new Response(stream(script, arrived), streamHeaders)
      },
    },
    "/v1/messages": {
      POST: async (request) => {
        const asked = JSON.parse(await request.text())
        if (asked.stream !== true) return new Response(wholeMessage, wholeHeaders)
        const script = messagesScripts.get(asked.model)
        if (script === undefined) return new Response(`no script for ${asked.model}`, { status: 404 })
        return new Response(stream(script, performance.now()), streamHeaders)
      },
    },
    "/v1/unavailable/chat/completions": {
      POST: async (request) => {
        await request.text()
        return new Response(unavailable, { ...wholeHeaders, status: 503 })
      },
    },
  },
})
process.on("SIGTERM", () => process.exit(0))
