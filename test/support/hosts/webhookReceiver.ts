/** A receiver of webhooks on a real socket, which does with each call what the test says. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { until } from "../clocks/until.ts"

export interface ReceivedCall {
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: string
  readonly json: Record<string, unknown>
}

/** `hang`: no answer. `reset`: the connection is closed without one. A number: that status, with a long body and a place to go to. */
export type Behaviour = number | "hang" | "reset"

export interface WebhookReceiver {
  readonly url: string
  readonly calls: ReadonlyArray<ReceivedCall>
  /** How many calls it has that it never answers. */
  readonly hung: () => number
  /** What it does from now on. */
  behave: (behaviour: Behaviour) => void
  /** Waits until there were so many calls in all. */
  readonly called: (count: number) => Promise<ReadonlyArray<ReceivedCall>>
  readonly close: () => void
}

const textOf = async (request: IncomingMessage): Promise<string> => {
  const parts: Array<Buffer> = []
  for await (const part of request) parts.push(part)
  return Buffer.concat(parts).toString("utf8")
}

export const startReceiver = async (path = "/hook"): Promise<WebhookReceiver> => {
  const calls: Array<ReceivedCall> = []
  let behaviour: Behaviour = 200
  let hung = 0
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await textOf(request)
    const headers = Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name, Array.isArray(value) ? value.join() : value]),
    )
    calls.push({ headers, body, json: JSON.parse(body) })
    if (behaviour === "hang") {
      hung += 1
      return
    }
    if (behaviour === "reset") {
      request.socket.destroy()
      return
    }
    response.writeHead(behaviour, { "content-type": "text/plain", location: "http://127.0.0.1:9/elsewhere" })
    response.end("x".repeat(100_000))
  }
  const server = createServer((request, response) => void answer(request, response))
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}${path}`,
    calls,
    hung: () => hung,
    behave: (next) => {
      behaviour = next
    },
    called: async (count) => {
      await until(() => calls.length >= count, `call ${count} of the webhook`)
      return calls
    },
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
