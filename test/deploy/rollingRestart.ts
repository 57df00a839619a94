/**
 * Two gateways on one database behind nginx, with the lines of docs/deployment.md, restarted one after the other under load:
 * how many requests fail. `bun test/deploy/rollingRestart.ts [SECONDS...]` does it for each `server.drain_delay_s`, and prints the
 * table of docs/decisions/0046-the-drain-delay.md. Needs nginx and the PostgreSQL of the tests; loopback only.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { until } from "../support/clocks/until.ts"
import { freePort } from "../support/gateways/freePort.ts"
import { firstKey, install, type RunningGateway } from "../support/gateways/process.ts"
import { chunkOf, configFor, scriptedHost, wholeAnswer } from "../support/hosts/host.ts"
import { makeDatabase, urlOf } from "../support/storage/postgres.ts"
import { textOf } from "./facts.ts"

export const nginx = Bun.which("nginx", { PATH: `${process.env["PATH"]}:/usr/sbin` })

/** Requests a second, every second of them streamed. */
const rate = 40
/** However slow the machine starts processes. */
const mostRequests = 6000
const processMs = 550_000

export interface Restarted {
  readonly requests: number
  /** What went wrong, a line for each request that failed. */
  readonly failures: ReadonlyArray<string>
  /** How long each gateway needed to end and to be ready again, milliseconds. */
  readonly tookMs: ReadonlyArray<number>
  /** What nginx logged, but for refused connections. */
  readonly errors: ReadonlyArray<string>
}

/** The blocks of the page in their order: the whole server, then the upstream and the lines of the location for several. */
const documented = (): ReadonlyArray<string> =>
  Array.from(textOf("docs/deployment.md").matchAll(/```nginx\n(.*?)```/gs), ([, block = ""]) => block)

/** The documented lines, with ports of this machine and without TLS. `several`: with those for several gateways. */
export const nginxConfig = (
  folder: string,
  port: number,
  gateways: ReadonlyArray<number>,
  several: boolean,
): string => {
  const [one = "", upstream = "", location = ""] = documented()
  const server = one.slice(one.indexOf("server {\n  listen"))
  const group = several
    ? upstream.replace(/10\.0\.0\.1(\d):8787/g, (_, at: string) => `127.0.0.1:${gateways[Number(at) - 1]}`)
    : `upstream headgate {\n${gateways.map((at) => `  server 127.0.0.1:${at};`).join("\n")}\n  keepalive 32;\n}\n`
  const plain = server
    .replace("listen 443 ssl;", `listen 127.0.0.1:${port};`)
    .replaceAll(/ *ssl_certificate.*\n/g, "")
    .replace(/ *# The gateway tries other hosts itself.*\n *proxy_next_upstream off;\n/, several ? location : "$&")
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((name) => `${name}_temp_path ${folder}/${name};`)
    .join(" ")
  return `daemon off; pid ${folder}/nginx.pid; error_log ${folder}/error.log; worker_processes 2;
events { worker_connections 1024; }
http { access_log off; ${temporary}
${group}
${plain}
}
`
}

const isReady = (port: number): Promise<boolean> =>
  fetch(`http://127.0.0.1:${port}/readyz`).then(
    ({ status }) => status === 200,
    () => false,
  )

/** nginx in front of gateways on these ports. `stop` also removes its files. */
export const startNginx = (port: number, gateways: ReadonlyArray<number>, several: boolean) => {
  if (nginx === null) throw new Error("nginx is not installed")
  const folder = mkdtempSync(join(tmpdir(), "headgate-nginx-"))
  const errors = join(folder, "error.log")
  writeFileSync(join(folder, "nginx.conf"), nginxConfig(folder, port, gateways, several))
  const words = [nginx, "-p", folder, "-c", join(folder, "nginx.conf"), "-e", errors]
  const running = Bun.spawn(words, { stdout: "ignore", stderr: "inherit" })
  return {
    /** What it has logged. */
    errors: () => readFileSync(errors, "utf8").split("\n"),
    stop: async () => {
      running.kill("SIGQUIT")
      await running.exited
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** A streamed answer takes a second, a whole one a third, so that some run whenever a gateway is stopped. */
const answers = (body: Record<string, unknown>): Response | Promise<Response> => {
  if (body["stream"] !== true) return Bun.sleep(300).then(() => wholeAnswer("hello"))
  const encoder = new TextEncoder()
  const stream = new ReadableStream<Uint8Array>({
    start: async (controller) => {
      const event = (data: string) => controller.enqueue(encoder.encode(`data: ${data}\n\n`))
      for (let word = 0; word < 10; word++) {
        event(chunkOf({ delta: { content: "word " }, finish_reason: null }))
        await Bun.sleep(100)
      }
      event(chunkOf({ delta: {}, finish_reason: "stop" }))
      event("[DONE]")
      controller.close()
    },
  })
  return new Response(stream, { headers: { "content-type": "text/event-stream" } })
}

/** One rolling restart. At least so many requests, and as many more as it takes. */
export const rollingRestart = async (
  drainDelaySeconds: number,
  { requests: least = 500, several = true }: { readonly requests?: number; readonly several?: boolean } = {},
): Promise<Restarted> => {
  if (nginx === null) throw new Error("nginx is not installed")
  const closing: Array<() => unknown> = []
  try {
    const host = scriptedHost(answers)
    closing.push(host.stop)
    const database = await makeDatabase()
    const [front, ...ports] = [freePort(), freePort(), freePort()]
    const config = configFor(
      { a: { url: host.url } },
      { discovery: { environment: false, local: false }, server: { drain_delay_s: drainDelaySeconds } },
    )
    const installations = ports.map(() => install())
    for (const { remove } of installations) closing.push(remove)
    const start = async (at: number): Promise<RunningGateway> => {
      const env = { HEADGATE_STORAGE: urlOf(database), HEADGATE_PORT: String(ports[at]) }
      const gateway = installations[at]?.start({ config, env })
      if (gateway === undefined) throw new Error("no such gateway")
      await until(() => isReady(ports[at] ?? 0), `gateway ${at}`, processMs)
      return gateway
    }
    const first = await start(0)
    await until(() => first.out().includes("curl "), "the keys", processMs)
    const authorization = `Bearer ${firstKey(first.out())}`
    const gateways = [first, await start(1)]

    const balancer = startNginx(front, ports, several)
    closing.push(balancer.stop)
    await until(() => isReady(front), "nginx")

    const failures: Array<string> = []
    const send = async (number: number): Promise<void> => {
      const stream = number % 2 === 0
      const body = JSON.stringify({ model: "acme/small", stream, messages: [{ role: "user", content: "hello" }] })
      try {
        const answer = await fetch(`http://127.0.0.1:${front}/api/v1/chat/completions`, {
          method: "POST",
          headers: { authorization, "content-type": "application/json" },
          body,
        })
        const text = await answer.text()
        const isWhole = stream ? text.includes("data: [DONE]") && !text.includes('"error"') : text.includes("hello")
        if (answer.status !== 200 || !isWhole) failures.push(`${number}: ${answer.status} ${text.slice(0, 200)}`)
      } catch (cause) {
        failures.push(`${number}: ${String(cause)}`)
      }
    }

    let restarting = true
    const tookMs: Array<number> = []
    const restarts = async () => {
      for (const [at, gateway] of gateways.entries()) {
        await Bun.sleep(2000)
        const since = performance.now()
        gateway.kill("SIGTERM")
        await gateway.exited
        await start(at)
        tookMs.push(Math.round(performance.now() - since))
      }
      await Bun.sleep(2000)
    }
    const restarted = restarts().finally(() => {
      restarting = false
    })
    const sent: Array<Promise<void>> = []
    const since = performance.now()
    while ((restarting || sent.length < least) && sent.length < mostRequests) {
      sent.push(send(sent.length))
      await Bun.sleep(Math.max(0, since + (sent.length * 1000) / rate - performance.now()))
    }
    await restarted
    await Promise.all(sent)
    const errors = balancer.errors().filter((line) => !line.includes("refused"))
    return { requests: sent.length, failures, tookMs, errors }
  } finally {
    for (const close of closing.toReversed()) await close()
  }
}

if (import.meta.main) {
  const delays = process.argv.slice(2).map(Number)
  console.info("| `drain_delay_s` | nginx | requests | failed |\n| --- | --- | --- | --- |")
  for (const several of [false, true]) {
    for (const delay of delays.length === 0 ? [0, 2, 5, 10] : delays) {
      const { requests, failures, errors } = await rollingRestart(delay, { several })
      console.info(`| ${delay} | ${several ? "for several" : "as for one"} | ${requests} | ${failures.length} |`)
      for (const line of errors.slice(0, 5)) console.info(`    ${line}`)
    }
  }
  process.exit(0)
}
