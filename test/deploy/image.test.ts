/** The Dockerfile, carried out without Docker as far as that goes: see imageFolder.ts. docs/deployment.md#docker */
import { afterAll, describe, expect, test } from "bun:test"
import { existsSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { until } from "../support/clocks/until.ts"
import { freePort } from "../support/gateways/freePort.ts"
import { firstKey, firstManagementKey } from "../support/gateways/process.ts"
import { root, said, stages, variables } from "./dockerfile.ts"
import { buildImage, hindrance, type Image, type Running } from "./imageFolder.ts"

const patience = 1_800_000

const why = await hindrance()
if (why !== undefined) console.warn(`The Dockerfile is not carried out: ${why}`)

/** What an operator may add: both import what is in the image. */
const config = `import { defineConfig } from "headgate"
export default defineConfig({ routing: { strategy: "ours" }, discovery: { local: false } })`
const strategy = `import * as Schema from "effect/Schema"
import { defineStrategy } from "headgate/plugin"
export default defineStrategy({ id: "ours", config: Schema.Struct({}), load: () => (candidates) => candidates })`

let image: Image | undefined
let running: Running | undefined
afterAll(async () => {
  running?.kill("SIGKILL")
  await running?.exited
  image?.remove()
})

test("the base image is pinned to the version of Bun that the package asks for", async () => {
  const { engines } = (await Bun.file(join(root, "package.json")).json()) as {
    readonly engines: { readonly bun: string }
  }
  const version = engines.bun.replace(">=", "")
  expect(stages.map(({ base }) => base)).toEqual(stages.map(() => `oven/bun:${version}-slim`))
})

test("what it copies exists and is not left out by .dockerignore", () => {
  const ignore = readFileSync(join(root, ".dockerignore"), "utf8").split("\n")
  const copied = stages.flatMap(({ instructions }) =>
    instructions
      .filter(({ name, value }) => name === "COPY" && !value.startsWith("--from"))
      .flatMap(({ value }) => value.split(/\s+/).slice(0, -1)),
  )
  expect(copied.filter((path) => !existsSync(join(root, path)))).toEqual([])
  expect(ignore.filter((line) => line.startsWith("!")).toSorted()).toEqual(
    [...new Set(copied.map((path) => `!${path}`))].toSorted(),
  )
})

describe.skipIf(why !== undefined)("the image, as folders", () => {
  test(
    "serves as its user on a root file system that cannot be written, is healthy, and stops with 0",
    async () => {
      image = await buildImage()
      await image.mount(`${said("WORKDIR")}/headgate.config.ts`, config)
      await image.mount(`${said("WORKDIR")}/plugins/strategies/ours/index.ts`, strategy)
      const port = String(freePort())
      const env = { HEADGATE_PORT: port }
      running = image.start(env)
      const { err } = running
      const health = said("HEALTHCHECK").replace(/^.*? CMD /, "")
      expect((await image.run(health, env)).code).toBe(1)
      await until(() => err().includes("first-keys.txt"), "the line about the keys")
      expect(err()).toContain(`${said("VOLUME")}/first-keys.txt`)
      expect(await image.run(health, env)).toEqual({ code: 0, out: "", err: "" })
      expect((await image.run("test -f /app/bundle/console/index.html.br", env)).code).toBe(0)

      const file = join(image.volume, "first-keys.txt")
      const keys = readFileSync(file, "utf8")
      expect([statSync(file).uid, statSync(file).mode & 0o777]).toEqual([Number(said("USER").split(":")[0]), 0o600])
      expect(statSync(join(image.volume, "headgate.db")).size).toBeGreaterThan(0)
      const answer = await fetch(`http://127.0.0.1:${port}/api/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${firstKey(keys)}`, "content-type": "application/json" },
        body: JSON.stringify({ model: "headgate/echo", messages: [{ role: "user", content: "hello" }] }),
      })
      expect(answer.status).toBe(200)

      const command = await image.run("headgate keys list", {
        ...env,
        HEADGATE_MANAGEMENT_KEY: firstManagementKey(keys),
      })
      expect(command).toMatchObject({ code: 0, err: "" })
      expect(command.out).toContain("first key")
      expect((await image.run("headgate plugin list", env)).out).toMatch(/^ours\tstrategy\ton/m)
      expect((await image.run("touch /app/x /headgate/x", env)).err).toContain("Read-only file system")

      running.kill("SIGTERM")
      expect(await running.exited).toBe(0)
      expect(err()).not.toContain("ERROR")
    },
    patience,
  )
})

test("it says that its log is kept, listens for other machines, and has room for calls to hosts", () => {
  expect(variables).toEqual({ HEADGATE_HOSTNAME: "0.0.0.0", BUN_CONFIG_MAX_HTTP_REQUESTS: "8192", container: "docker" })
})
