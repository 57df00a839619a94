/** Clients in Python (`test/clients/python`), each in an environment of its own with pinned packages, at a scripted host. */
import { existsSync } from "node:fs"
import { mkdir } from "node:fs/promises"
import { join, resolve } from "node:path"
import { startGateway } from "../gateways/gateway.ts"
import { configFor, type ScriptedHost, scriptedHost, streamAnswer, wholeAnswer } from "../hosts/host.ts"
import { answerOfWeather } from "../hosts/weatherHost.ts"

const root = resolve(import.meta.dir, "../../..")
const folder = join(root, "test/clients/python")
const cache = join(root, "node_modules/.cache/python")

/** Packages with their versions, by client. */
export const packages: Readonly<Record<string, ReadonlyArray<string>>> = await Bun.file(
  join(folder, "requirements.json"),
).json()

export const pythonClients: ReadonlyArray<string> = Object.keys(packages)

export interface PythonCase {
  readonly case: string
  readonly passed: boolean
  readonly why?: string
}

const succeeds = async (command: ReadonlyArray<string>): Promise<boolean> => {
  try {
    return (await Bun.spawn([...command], { stdout: "ignore", stderr: "ignore" }).exited) === 0
  } catch {
    return false
  }
}

/** The interpreter that has the client's packages; `undefined`: there is no `python3`, or the packages cannot be installed. */
const pythonFor = async (client: string): Promise<string | undefined> => {
  const environment = join(cache, client)
  const python = join(environment, "bin/python")
  const stamp = Bun.file(join(environment, "packages.json"))
  const wanted = JSON.stringify(packages[client])
  if (existsSync(python) && (await stamp.exists()) && (await stamp.text()) === wanted) return python
  await mkdir(cache, { recursive: true })
  if (!(await succeeds(["python3", "-m", "venv", "--clear", environment]))) return undefined
  const install = [
    python,
    "-m",
    "pip",
    "install",
    "--quiet",
    "--disable-pip-version-check",
    ...(packages[client] ?? []),
  ]
  if (!(await succeeds(install))) return undefined
  await Bun.write(stamp, wanted)
  return python
}

/** Sees an image, and otherwise does what `weatherHost` does. */
const seeingHost = (): ScriptedHost =>
  scriptedHost((body) => {
    if (!JSON.stringify(body["messages"]).includes("data:image/png;base64,")) return answerOfWeather(body)
    return body["stream"] === true ? streamAnswer(["An ", "image"]) : wholeAnswer("An image")
  })

/** What each case of the client came to; `undefined`: it cannot be installed here. */
export const runPythonClient = async (client: string): Promise<ReadonlyArray<PythonCase> | undefined> => {
  const python = await pythonFor(client)
  if (python === undefined) return undefined
  const host = seeingHost()
  const config = configFor({ acme: host })
  const gateway = await startGateway({ config })
  try {
    const program = join(folder, `${client.replaceAll("-", "_")}_client.py`)
    const run = Bun.spawn([python, program], {
      env: { ...process.env, GATEWAY_URL: new URL(gateway.url).origin, GATEWAY_KEY: gateway.key, PYTHONPATH: folder },
      stdout: "pipe",
      stderr: "pipe",
    })
    const [said, failed] = await Promise.all([new Response(run.stdout).text(), new Response(run.stderr).text()])
    const cases = said.split("\n").flatMap(caseIn)
    return (await run.exited) === 0 ? cases : [...cases, { case: "program", passed: false, why: failed.slice(-2000) }]
  } finally {
    await gateway.stop()
    host.stop()
  }
}

const caseIn = (line: string): ReadonlyArray<PythonCase> => {
  if (!line.startsWith('{"case"')) return []
  const { case: name, passed, why }: Readonly<Record<string, unknown>> = JSON.parse(line)
  return [{ case: String(name), passed: passed === true, ...(typeof why === "string" ? { why } : {}) }]
}
