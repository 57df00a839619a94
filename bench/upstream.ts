/**
 * The host behind both proxies: answers `POST /v1/chat/completions` from prepared bytes, whole or as a paced stream.
 * Its own process, so that its work is nobody's. Arguments: `--port N --chunks N --interval MS`.
 */
import { parseArgs } from "node:util"
import { streamScript, wholeAnswer } from "./load/script.ts"

const { values } = parseArgs({
  options: { port: { type: "string" }, chunks: { type: "string" }, interval: { type: "string" } },
})
const { head, chunks, tail } = streamScript(Number(values.chunks ?? 100))
const interval = Number(values.interval ?? 20)

const whole = new TextEncoder().encode(wholeAnswer())
const wholeHeaders = { headers: { "Content-Type": "application/json" } }
const streamHeaders = { headers: { "Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache" } }

/** Its own timer per stream: the ticks of many streams lie as far apart as their starts. */
const stream = (): ReadableStream => {
  let timer: ReturnType<typeof setInterval> | undefined
  let over = () => {}
  return new ReadableStream({
    type: "direct",
    pull: (controller) =>
      new Promise<void>((resolve) => {
        over = resolve
        let next = 0
        controller.write(head)
        controller.flush()
        timer = setInterval(() => {
          const chunk = chunks[next++]
          controller.write(chunk ?? tail)
          controller.flush()
          if (chunk !== undefined) return
          clearInterval(timer)
          controller.close()
          resolve()
        }, interval)
      }),
    cancel: () => {
      clearInterval(timer)
      over()
    },
  })
}

Bun.serve({
  hostname: "127.0.0.1",
  port: Number(values.port),
  idleTimeout: 0,
  routes: {
    "/v1/chat/completions": {
      POST: async (request) =>
        /"stream"\s*:\s*true/.test(await request.text())
          ? new Response(stream(), streamHeaders)
          : new Response(whole, wholeHeaders),
    },
  },
})
process.on("SIGTERM", () => process.exit(0))
