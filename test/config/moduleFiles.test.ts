/** What a configuration file of TypeScript may export. docs/configuration.md#form */
import { afterAll, describe, expect, test } from "bun:test"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { type Installation, install } from "../support/gateways/process.ts"

const patience = 1_800_000

const installation: Installation = install()
afterAll(() => installation.remove())

let count = 0
const check = async (source: string) => {
  const file = join(installation.folder, `config${count++}.ts`)
  writeFileSync(file, source)
  const { code, out, err } = await installation.command(["check", file, "--json"], { HEADGATE_STORAGE: "" })
  return { code, err: err.replaceAll(file, "FILE"), answer: JSON.parse(out) }
}

const object = '{ discovery: { environment: false, local: false }, storage: "memory:" }'

describe("a configuration that is exported", () => {
  test.each([
    ["as a promise", `export default Promise.resolve(${object})`],
    ["by an async function that was called", `export default (async () => (${object}))()`],
    ["with a top-level await", `await Promise.resolve()\nexport default ${object}`],
    ["as a thenable", `export default { then: (resolve) => resolve(${object}) }`],
    ["as an object", `export default ${object}`],
    [
      "as a frozen object without a prototype",
      `export default Object.freeze(Object.assign(Object.create(null), ${object}))`,
    ],
  ])(
    "%s is read, and is no empty one",
    async (_how, source) => {
      const { code, answer } = await check(source)
      expect([code, answer.data]).toEqual([0, "in memory: it ends with the process"])
    },
    patience,
  )

  test.each([
    ["a function", `export default () => (${object})`, "got a function, which is not called"],
    ["a promise of a function", `export default Promise.resolve(() => (${object}))`, "got a function"],
    ["a promise of nothing", "export default Promise.resolve()", "got nothing"],
    ["a list", `export default [${object}]`, "got list"],
    ["a Map", "export default new Map()", "got an instance of Map"],
    ["an instance of a class", "class Config {}\nexport default new Config()", "got an instance of Config"],
    ["a date", "export default new Date()", "got an instance of Date"],
    ["a module without a default", `export const config = ${object}`, "got nothing"],
    ["a promise that is rejected", 'export default Promise.reject(new TypeError("no"))', "got TypeError: no"],
  ])(
    "as %s is an error with its kind, and no empty configuration",
    async (_what, source, got) => {
      const { code, err, answer } = await check(source)
      expect([code, answer.ok]).toEqual([78, false])
      expect(err).toContain("config error: FILE: expected ")
      expect(err).toContain(got)
    },
    patience,
  )

  test(
    "with a promise or a map where an object belongs is an error for each, in one round with the others",
    async () => {
      const { code, err } = await check(`export default {
        server: Promise.resolve({ port: 1 }),
        aliases: new Map([["a", "b/c"]]),
        providers: { groq: Promise.resolve({}), "openai-compatible": { base_url: "https://a.example/v1", privacy: new Set() } },
        limits: { retries: "many" },
      }`)
      expect([code, err.split("\n")]).toEqual([
        78,
        [
          "headgate: 5 problems in the configuration",
          "config error: server: expected an object, got an instance of Promise",
          "config error: aliases: expected an object, got an instance of Map",
          "config error: providers.groq: expected an object, got an instance of Promise",
          "config error: providers.openai-compatible.privacy: expected an object, got an instance of Set",
          'config error: limits.retries: expected a number of at least 0, got string "many"',
          "",
        ],
      ])
    },
    patience,
  )

  const levels = 200_000
  test.each([
    ["objects of JSON", "json", `{"providers":${'{"a":'.repeat(levels)}1${"}".repeat(levels)}}`],
    ["lists of JSON", "json", `{"models":${"[".repeat(levels)}${"]".repeat(levels)}}`],
    ["lists of JSON with a comment", "jsonc", `{ // all of them\n"models":${"[".repeat(levels)}${"]".repeat(levels)}}`],
    ["objects that never end", "json", '{"a":'.repeat(levels)],
    ["lists of TypeScript", "ts", `export default { models: ${"[".repeat(levels)}${"]".repeat(levels)} }`],
    [
      "objects that a loop makes",
      "ts",
      `let x = {}\nfor (let i = 0; i < ${levels}; i++) x = { x }\nexport default { server: x }`,
    ],
    ["an object that holds itself", "ts", "const x = {}\nx.providers = x\nexport default x"],
  ])(
    "of %s, 200,000 deep, is one line and exit code 78, and no stack",
    async (_what, ending, text) => {
      const file = join(installation.folder, `deep${count++}.${ending}`)
      writeFileSync(file, text)
      const { code, err } = await installation.command(["check", file])
      expect([code, err.split("\n").length]).toEqual([78, 3])
      expect(err).toMatch(/^headgate: 1 problem in the configuration\nconfig error: [^\n]*: expected [^\n]{1,80}\n$/)
      const start = Bun.spawnSync([process.execPath, "src/main.ts", "--config", file], {
        env: { PATH: process.env["PATH"] ?? "", HEADGATE_STORAGE: "memory:", HEADGATE_PORT: "0" },
      })
      expect([start.exitCode, start.stderr.toString().split("\n").length]).toEqual([78, 2])
    },
    patience,
  )
})
