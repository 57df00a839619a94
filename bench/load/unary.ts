/**
 * Non-streaming requests as fast as they are answered, by `wrk`, or by the bundled `autocannon` where there is no
 * `wrk`.
 */
import { join } from "node:path"
import { runToEnd } from "./processes.ts"
import { type Address, root } from "./roles.ts"
import { type Model, requestBody } from "./script.ts"

export interface UnaryResult {
  readonly requests: number
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
}

export interface UnaryLoad extends Address {
  readonly model: Model
  /** Each has a connection of its own, and sends its next request when the last one was answered. */
  readonly callers: number
  readonly seconds: number
  /** For the script of wrk. */
  readonly folder: string
  /** Default: that of a chat caller who asks for `model`. */
  readonly body?: string
}

interface Counted extends UnaryResult {
  /** Requests that did not end with 200. wrk counts them among its requests, too. */
  readonly failed: number
}

export const unaryTool = Bun.which("wrk") === null ? "autocannon" : "wrk"

/** Fails when one request was not answered with 200: refusals are cheap, and would look like speed. */
export const unaryLoad = async (load: UnaryLoad): Promise<UnaryResult> => {
  const result = await (unaryTool === "wrk" ? withWrk(load) : withAutocannon(load))
  if (result.failed > 0 || result.requests === 0) {
    throw new Error(`${load.url}: ${result.failed} requests failed, ${result.requests} were answered`)
  }
  return result
}

const luaString = (text: string): string => `"${text.replace(/["\\]/g, "\\$&")}"`

const bodyOf = ({ model, body = requestBody(model, false) }: UnaryLoad): string => body

const luaScript = (load: UnaryLoad): string => `
wrk.method = "POST"
wrk.body = ${luaString(bodyOf(load))}
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Authorization"] = ${luaString(`Bearer ${load.key}`)}
done = function(summary, latency)
  local e = summary.errors
  io.write(string.format("BENCH %d %d %d %d %d\\n", summary.requests, summary.duration,
    e.connect + e.read + e.write + e.status + e.timeout, latency:percentile(50), latency:percentile(99)))
end
`

const withWrk = async (load: UnaryLoad): Promise<Counted> => {
  const { url, callers, seconds, folder } = load
  const script = join(folder, "unary.lua")
  await Bun.write(script, luaScript(load))
  const command = ["wrk", "-t1", `-c${callers}`, `-d${seconds}s`, "--timeout", "10s", "-s", script, url]
  const output = await runToEnd(command, root, seconds + 30)
  const line = /^BENCH (\d+) (\d+) (\d+) (\d+) (\d+)$/m.exec(output)
  if (line === null) throw new Error(`wrk printed:\n${output}`)
  // All times are microseconds.
  const [requests = 0, duration = 0, failed = 0, p50 = 0, p99 = 0] = line.slice(1).map(Number)
  return { requests, perSecond: (requests / duration) * 1e6, failed, p50Ms: p50 / 1000, p99Ms: p99 / 1000 }
}

const withAutocannon = async (given: UnaryLoad): Promise<Counted> => {
  const { url, key, callers, seconds } = given
  const program = join(root, "node_modules/autocannon/autocannon.js")
  const headers = ["-H", "Content-Type=application/json", "-H", `Authorization=Bearer ${key}`]
  const amount = ["-c", `${callers}`, "-d", `${seconds}`]
  const load = ["-j", "-n", ...amount, "-m", "POST", ...headers, "-b", bodyOf(given)]
  const output = await runToEnd([process.execPath, program, ...load, url], root, seconds + 30)
  const result = JSON.parse(output)
  return {
    requests: result["2xx"],
    perSecond: result["2xx"] / result.duration,
    failed: result.errors + result.timeouts + result.non2xx,
    p50Ms: result.latency.p50,
    p99Ms: result.latency.p99,
  }
}
