/** The official clients in Python: `scripts/pythonClients.ts` runs all. docs/clients.md#python */
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import { runPythonClient } from "../support/clients/pythonClients.ts"

setDefaultTimeout(1_800_000)

describe.each(["openai", "anthropic", "google-genai"])("the Python client %s", (client) => {
  test("whole, streamed, tools, structured, image, error and usage", async () => {
    const cases = await runPythonClient(client)
    if (cases === undefined) console.log(`1 test skipped: the Python client ${client} cannot be installed here.`)
    else expect(cases.filter(({ passed }) => !passed)).toEqual([])
  })
})
