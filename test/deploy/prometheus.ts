/** Debian's `prometheus`, with its `promtool`, reading a gateway of the tests. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { until } from "../support/clocks/until.ts"
import { freePort } from "../support/gateways/freePort.ts"

const programs = { prometheus: Bun.which("prometheus"), promtool: Bun.which("promtool") }
export const hasPrometheus = programs.prometheus !== null && programs.promtool !== null

/** What `promtool` says, and its exit code. `input`: for its standard input. */
export const promtool = async (words: ReadonlyArray<string>, input = ""): Promise<{ code: number; said: string }> => {
  const child = Bun.spawn([programs.promtool ?? "promtool", ...words], {
    stdin: Buffer.from(input),
    stdout: "pipe",
    stderr: "pipe",
  })
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  return { code: await child.exited, said: out + err }
}

export interface Prometheus {
  /** The values of an instant query now. */
  readonly query: (expression: string) => Promise<ReadonlyArray<number>>
  readonly stop: () => Promise<void>
}

/** Scrapes `target` (host and port) twice a second, with `token`. */
export const startPrometheus = async (target: string, token: string): Promise<Prometheus> => {
  const folder = mkdtempSync(join(tmpdir(), "headgate-prometheus-"))
  const file = join(folder, "prometheus.yml")
  writeFileSync(
    file,
    JSON.stringify({
      global: { scrape_interval: "500ms", scrape_timeout: "500ms" },
      scrape_configs: [
        { job_name: "headgate", authorization: { credentials: token }, static_configs: [{ targets: [target] }] },
      ],
    }),
  )
  const port = freePort()
  const child = Bun.spawn(
    [
      programs.prometheus ?? "prometheus",
      ...[`--config.file=${file}`, `--storage.tsdb.path=${join(folder, "data")}`, "--log.level=warn"],
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdout: "ignore", stderr: "ignore" },
  )
  const url = `http://127.0.0.1:${port}`
  await until(
    () =>
      fetch(`${url}/-/ready`).then(
        ({ ok }) => ok,
        () => false,
      ),
    "Prometheus",
  )
  return {
    query: async (expression) => {
      const response = await fetch(`${url}/api/v1/query`, {
        method: "POST",
        body: new URLSearchParams({ query: expression }),
      })
      const { data, error } = (await response.json()) as {
        readonly data?: { readonly result: ReadonlyArray<{ readonly value: readonly [number, string] }> }
        readonly error?: string
      }
      if (data === undefined) throw new Error(`${expression}: ${error}`)
      return data.result.map(({ value: [, value] }) => Number(value))
    },
    stop: async () => {
      child.kill()
      await child.exited
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
