/** The programs of docs/clients.md, run as they are written but for the gateway's port. */
import { afterAll, beforeAll, expect, spyOn, test } from "bun:test"
import { mkdir, rm } from "node:fs/promises"
import { startGateway, type TestGateway } from "../support/gateways/gateway.ts"

const page = await Bun.file(new URL("../../docs/clients.md", import.meta.url)).text()
const programs = [...page.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, program = ""]) => program)
const named = programs.map((program) => [/from "([^"]+)"/.exec(program)?.[1] ?? "", program] as const)

// In the repository, where the packages that they import are found.
const folder = new URL("../../node_modules/.headgate-programs/", import.meta.url).pathname
const keyVariable = "HEADGATE_API_KEY"
const keyBefore = process.env[keyVariable]
let gateway: TestGateway

beforeAll(async () => {
  await mkdir(folder, { recursive: true })
  gateway = await startGateway()
  process.env[keyVariable] = gateway.key
})
afterAll(async () => {
  if (keyBefore === undefined) delete process.env[keyVariable]
  else process.env[keyVariable] = keyBefore
  await gateway.stop()
  await rm(folder, { recursive: true })
})

test("there are programs", () => {
  expect(programs.length).toBeGreaterThan(6)
})

test.each(named)("the program with %s", async (_, program) => {
  const said: Array<unknown> = []
  const log = spyOn(console, "log").mockImplementation((text) => said.push(text))
  try {
    const file = `${folder}${crypto.randomUUID()}.ts`
    await Bun.write(file, program.replaceAll("http://127.0.0.1:8787", new URL(gateway.url).origin))
    await import(file)
  } finally {
    log.mockRestore()
  }
  expect(said.length).toBeGreaterThan(0)
  expect(new Set(said)).toEqual(new Set(["Hello, gateway!"]))
})
