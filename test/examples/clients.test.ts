/** The examples of clients, each as a process, against a gateway with the echo provider: what they print. */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { startGateway, type TestGateway } from "../support/gateways/gateway.ts"
import { ran } from "../support/gateways/packedApp.ts"

const folder = join(import.meta.dir, "../../examples")

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startGateway()
})
afterAll(() => gateway.stop())

test.each([
  ["openai", "Hello, gateway!\n0.000006 USD\n"],
  ["vercel-ai", "Hello, gateway!\n2 tokens in, 2 out\n"],
  ["langchain", "Hello, gateway!\n"],
])(
  "examples/%s",
  async (name, said) => {
    const variables = [`HEADGATE_URL=${gateway.url}`, `HEADGATE_API_KEY=${gateway.key}`]
    const result = await ran(["env", ...variables, process.execPath, `${name}/index.ts`], folder)
    expect(result).toEqual({ code: 0, stdout: said, stderr: "" })
  },
  1_800_000,
)

test("examples/hono serves the app's page, and the gateway below a prefix", async () => {
  const child = Bun.spawn([process.execPath, "hono/index.ts"], {
    cwd: folder,
    env: { ...process.env, PORT: "0" },
    stdout: "pipe",
    stderr: "inherit",
  })
  try {
    let said = ""
    const decoder = new TextDecoder()
    for await (const bytes of child.stdout) {
      said += decoder.decode(bytes, { stream: true })
      if (said.includes("\n")) break
    }
    const url = /serving at (\S+)/.exec(said)?.[1] ?? ""
    expect(await (await fetch(url)).text()).toBe("our own page")
    const ask = (key: string) =>
      fetch(`${url}llm/api/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify({ model: "headgate/echo", messages: [{ role: "user", content: "Hello, app!" }] }),
      })
    const answer = await ask("a-session-of-ours")
    expect(JSON.parse(await answer.text()).choices[0].message.content).toBe("Hello, app!")
    expect((await ask("somebody else")).status).toBe(401)
  } finally {
    child.kill("SIGTERM")
  }
  expect(await child.exited).toBe(0)
}, 1_800_000)

/** Where each of the others is run. */
const elsewhere = {
  "effect-app": "effectApp.test.ts",
  "plugin-package": "../package/pluginPackage.test.ts",
  plugins: "dataHost.test.ts",
  services: "services.test.ts",
}

test("every example is run by a test", () => {
  expect(readdirSync(folder).toSorted()).toEqual(
    ["openai", "vercel-ai", "langchain", "hono", ...Object.keys(elsewhere)].toSorted(),
  )
})
