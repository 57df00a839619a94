/** What a start and `check` say of ports, and of a configuration file that never ends. docs/commands.md#check */
import { afterAll, describe, expect, test } from "bun:test"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { type Installation, install } from "../support/gateways/process.ts"

const patience = 1_800_000

const installation: Installation = install()
writeFileSync(join(installation.folder, "headgate.config.json"), '{"discovery":{"environment":false,"local":false}}')
afterAll(() => installation.remove())

describe.concurrent("before a start", () => {
  test(
    "a port that is in use: the start names the program that has it, in one line, as check does",
    async () => {
      const other = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("hello") })
      const port = String(other.port)
      const gateway = installation.start({ words: ["--port", port, "--storage", "memory:"] })
      expect(await gateway.exited).toBe(69)
      expect(gateway.err().trim().split("\n").at(-1)).toBe(
        `server: port ${port} of 127.0.0.1 is used by another program (pid ${process.pid}: ${process.argv0} test)`,
      )
      await other.stop(true)
    },
    patience,
  )

  test(
    "check takes --port, --hostname and --storage as a start does, and they win over the environment",
    async () => {
      const words = ["check", "--json", "--port", "18431", "--hostname", "127.0.0.2", "--storage", "memory:"]
      const { code, out } = await installation.command(words)
      const { port, data } = JSON.parse(out)
      expect([code, port.says, data]).toEqual([0, "18431 is free at 127.0.0.2", "in memory: it ends with the process"])
      const wrong = await installation.command(["check", "--port", "many", "--storage", "mysql://x"])
      expect([wrong.code, wrong.err.split("\n").slice(1)]).toEqual([
        78,
        [
          'config error: --port: expected a whole number from 0 to 65535, got string "many"',
          'config error: --storage: expected "memory:", "sqlite:PATH" or "postgres://USER@HOST/DATABASE", got string',
          "",
        ],
      ])
    },
    patience,
  )

  const never = "await new Promise(() => {})\nexport default {}"

  test.each([["check"], ["serve"]])(
    "a configuration whose import never ends: %s says so after 30 seconds, and ends with 78",
    async (command) => {
      const file = join(installation.folder, `never-${command}.ts`)
      writeFileSync(file, never)
      const words = command === "check" ? [command, file] : [command, "--config", file]
      const gateway = installation.start({ words })
      expect(await gateway.exited).toBe(78)
      expect(gateway.err()).toEndWith(`config error: ${file}: expected a file that loads within 30 seconds\n`)
    },
    patience,
  )

  test.each([
    ["waits for ever", never, "expected a file that loads within 0.4 seconds"],
    [
      "exports a promise that never ends",
      "export default new Promise(() => {})",
      "expected a file that loads within 0.4 seconds",
    ],
    ["is an endless loop", "for (;;) {}", "expected a file that loads within 0.4 seconds"],
    ["ends the process", "process.exit(0)", "expected a file that loads, but it ended the process"],
  ])(
    "a configuration file that %s is named, and the exit code is 78",
    async (what, source, says) => {
      const file = join(installation.folder, `${what.replaceAll(" ", "-")}.ts`)
      writeFileSync(file, source)
      // As the program reads it, with less patience where that is to end.
      const importMs = says.includes("0.4 seconds") ? 400 : 100_000
      const reader = `
        import * as Effect from "effect/Effect"
        import { readRaw } from "./src/config/file/configFile.ts"
        const read = await Effect.runPromise(Effect.either(readRaw(${JSON.stringify(file)}, ${importMs})))
        process.stderr.write(\`config error: \${read.left.path}: \${read.left.message}\\n\`)
        process.exit(78)`
      const child = Bun.spawn([process.execPath, "-e", reader], { stdout: "ignore", stderr: "pipe" })
      const [code, err] = await Promise.all([child.exited, new Response(child.stderr).text()])
      expect([code, err]).toEqual([78, `config error: ${file}: ${says}\n`])
    },
    patience,
  )
})
