/** deploy/compose.yaml: held against the code, and its gateway started with its environment. docs/deployment.md#compose */
import { afterAll, describe, expect, test } from "bun:test"
import { join, resolve } from "node:path"
import { install } from "../support/gateways/process.ts"
import { execute, hasPostgres, port } from "../support/storage/postgres.ts"
import { root, said } from "./dockerfile.ts"
import { defaults, image, longestBodiesMiB, textOf, unknownVariables } from "./facts.ts"

interface Service {
  readonly build?: string
  readonly image: string
  readonly stop_grace_period: string
  readonly ports?: ReadonlyArray<string>
  readonly env_file?: string
  readonly environment: Readonly<Record<string, string>>
  readonly volumes: ReadonlyArray<string>
  readonly read_only?: boolean
  readonly mem_limit?: string
  readonly tmpfs?: ReadonlyArray<string>
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>
  readonly healthcheck?: { readonly test: ReadonlyArray<string> }
}

const text = textOf("deploy/compose.yaml")
const { services, volumes } = Bun.YAML.parse(text) as {
  readonly services: { readonly gateway: Service; readonly database: Service }
  readonly volumes: Readonly<Record<string, unknown>>
}
const { gateway, database } = services
const secrets = { POSTGRES_PASSWORD: "made-up-password", HEADGATE_MANAGEMENT_KEY: "a-made-up-key-of-the-operator-32" }

const closing: Array<() => unknown> = []
afterAll(() => Promise.all(closing.map((close) => close())))

const docker = Bun.spawnSync(["sh", "-c", "docker compose version"]).exitCode === 0
if (!docker) console.warn("deploy/compose.yaml is not given to `docker compose config`: there is no docker compose")

describe("deploy/compose.yaml", () => {
  test("eight bodies of 32 MiB at once fit into the gateway's memory with a quarter of room", () => {
    const gibibytes = Number(/^(\d+)g$/.exec(gateway.mem_limit ?? "")?.[1])
    expect(gibibytes * 1024).toBeGreaterThanOrEqual(longestBodiesMiB * 1.25)
  })

  test("every secret comes from deploy/.env, of which there is an example without values", () => {
    const asked = [...text.matchAll(/\$\{(\w+):\?[^}]+\}/g)].map(([, name = ""]) => name)
    expect([...new Set(asked)].toSorted()).toEqual(Object.keys(secrets).toSorted())
    expect(text.match(/\$\{/g)).toHaveLength(asked.length)
    for (const name of asked) expect(textOf("deploy/env.example")).toMatch(new RegExp(`^${name}=$`, "m"))
    expect(gateway.env_file).toBe(".env")
    expect(textOf(".gitignore")).toContain("/deploy/.env\n")
  })

  test("the gateway has the image of the Dockerfile, its port, and time to drain", () => {
    expect(resolve(root, "deploy", gateway.build ?? "")).toBe(root)
    expect(gateway.ports).toEqual([`127.0.0.1:8787:${said("EXPOSE")}`])
    expect(Number(said("EXPOSE"))).toBe(defaults.server.port)
    expect(Number.parseInt(gateway.stop_grace_period, 10)).toBeGreaterThan(defaults.server.drainSeconds + 10)
    expect(unknownVariables(Object.keys(gateway.environment))).toEqual([])
  })

  test("only its volume and /tmp can be written, and the spool is in the volume", () => {
    expect([gateway.read_only, gateway.tmpfs]).toEqual([true, ["/tmp"]])
    expect(gateway.volumes).toEqual([`spool:${image.data}`])
    expect(join(image.installation, defaults.spoolFolder)).toBe(image.data)
    const named = [gateway, database].flatMap((service) => service.volumes.map((volume) => volume.split(":")[0] ?? ""))
    expect(named.toSorted()).toEqual(Object.keys(volumes).toSorted())
  })

  test("the gateway waits for a database that says whether it is ready", () => {
    expect(gateway.depends_on).toEqual({ database: { condition: "service_healthy" } })
    expect(database.healthcheck?.test.slice(0, 2)).toEqual(["CMD", "pg_isready"])
  })

  test.skipIf(!docker)("docker compose reads it", () => {
    const { exitCode, stderr } = Bun.spawnSync(
      ["docker", "compose", "-f", join(root, "deploy/compose.yaml"), "config"],
      {
        env: { ...process.env, ...secrets },
      },
    )
    expect(stderr.toString()).toBe("")
    expect(exitCode).toBe(0)
  })

  test.skipIf(!hasPostgres)(
    "a gateway with its environment serves from a database that was made with that of the database",
    async () => {
      const filled = (written: string) =>
        written.replace(
          /\$\{(\w+):[^}]*\}/,
          (_, name: string) => Object.entries(secrets).find(([key]) => key === name)?.[1] ?? "",
        )
      const made = Object.fromEntries(
        Object.entries(database.environment).map(([name, value]) => [name, filled(value)]),
      )
      const user = `${made["POSTGRES_USER"]}_${crypto.randomUUID().slice(0, 8)}`
      // As the image of the database does it with these variables.
      await execute(
        "postgres",
        `CREATE ROLE ${user} LOGIN PASSWORD '${made["POSTGRES_PASSWORD"]}'`,
        `CREATE DATABASE ${user} OWNER ${user}`,
      )
      const env = Object.fromEntries(Object.entries(gateway.environment).map(([name, value]) => [name, filled(value)]))
      const url = new URL(env["HEADGATE_STORAGE"] ?? "")
      expect([url.username, url.hostname, url.pathname]).toEqual([
        made["POSTGRES_USER"] ?? "",
        "database",
        `/${made["POSTGRES_DB"]}`,
      ])
      url.username = user
      url.pathname = `/${user}`
      url.host = `127.0.0.1:${port}`
      const installation = install()
      closing.push(installation.remove)
      const config = { spool_folder: installation.folder, discovery: { environment: false, local: false } }
      const running = installation.start({ config, env: { ...env, HEADGATE_STORAGE: url.href } })
      const base = await running.url()
      const answer = await fetch(`${base}/keys`, {
        headers: { authorization: `Bearer ${env["HEADGATE_MANAGEMENT_KEY"]}` },
      })
      expect([answer.status, await answer.json()]).toEqual([200, { data: [], total: 0 }])
      expect(running.out()).not.toContain("sk-gw")
      running.kill("SIGTERM")
      expect(await running.exited).toBe(0)
    },
    1_800_000,
  )
})
