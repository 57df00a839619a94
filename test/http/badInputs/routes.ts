/** Numbers 65 to 68: unknown paths and methods. */
import { expect } from "bun:test"
import type { Refusal } from "../../support/clients/badInputs.ts"
import { answerTo, rawCaller, requestOf } from "../../support/clients/rawCaller.ts"
import { badInput, chatPath, gateway, json, ordinary, refused } from "./harness.ts"

export const routeTests = (): void => {
  const noRoute: Refusal = {
    status: 404,
    says: /^This route does not exist\.(?: The API is at \/api\/v1, its description at \/docs\.(?: Set the base URL of the client to one that ends with \/api\/v1\.)?)?$/,
  }
  const send = (line: string, key: () => string) => () =>
    answerTo(gateway.url, requestOf(line, { ...ordinary(), Authorization: `Bearer ${key()}` }, json))

  for (const method of ["GET", "PUT", "DELETE", "PATCH", "TRACE"]) {
    badInput(65, `${method} on chat completions`, () =>
      refused(
        send(`${method} ${chatPath}`, () => gateway.key),
        noRoute,
      ),
    )
  }
  for (const path of ["/", "/api/v1", "/api/v1/nothing", "/api/v2/chat/completions", "/chat/completions", "/.env"]) {
    badInput(65, `POST ${path}`, () =>
      refused(
        send(`POST ${path}`, () => gateway.key),
        noRoute,
      ),
    )
    badInput(65, `GET ${path}`, () =>
      refused(
        send(`GET ${path}`, () => gateway.managementKey),
        noRoute,
      ),
    )
  }

  const spellings = [
    ...[
      "/api/v1//chat/completions",
      "//api/v1/chat/completions",
      "/api/v1/chat//completions",
      "/api/v1/chat/completions/",
    ],
    ...[
      "/API/V1/chat/completions",
      "/api/v1/Chat/Completions",
      "/api/v1/%63hat/completions",
      "/api/v1/chat%2fcompletions",
    ],
    ...["/api/v1/./chat/completions", "/api/v1/x/../chat/completions", "/api/v1/x/%2e%2e/chat/completions"],
    ...["/%2e%2e/api/v1/chat/completions", "/api/v1/chat/completions;x=1", "/api/v1/chat\\completions"],
  ]
  for (const path of spellings) {
    badInput(66, `POST ${path}`, () =>
      refused(
        send(`POST ${path}`, () => gateway.key),
        noRoute,
      ),
    )
  }
  const keySpellings = [
    ...["/%2e%2e/keys", "/api/v1//keys", "/API/V1/keys", "/api/v1/Keys", "/api/v1/keys/", "/api/v1/%6beys"],
    ...["/api/v1/keys;x=1", "/api/v1/keys%00", "//api/v1/keys"],
  ]
  for (const path of keySpellings) {
    badInput(66, `GET ${path}`, () =>
      refused(
        send(`GET ${path}`, () => gateway.managementKey),
        noRoute,
      ),
    )
  }
  badInput(66, "dots that Bun removes from a path before our code sees it give no access", async () => {
    for (const path of ["/api/v1/x/../keys", "/api/v1/x/%2e%2e/keys", "/api/v1/./keys"]) {
      await refused(
        send(`GET ${path}`, () => gateway.key),
        { status: 403, says: "Only management keys" },
      )
      await refused(() => answerTo(gateway.url, requestOf(`GET ${path}`, {})), { status: 401, says: "send your key" })
    }
  })

  for (const path of ["/auth/key", "/key", "/models", "/nothing"]) {
    badInput(67, `HEAD ${path} is answered as GET, without the body`, async () => {
      const get = await gateway.call(path)
      const length = Buffer.byteLength(await get.text())
      const raw = rawCaller(gateway.url)
      raw.send(requestOf(`HEAD /api/v1${path}`, { ...ordinary(), Connection: "close" }))
      const said = await raw.closed
      expect(said).toStartWith(`HTTP/1.1 ${get.status} `)
      expect(said).toEndWith("\r\n\r\n")
      expect(said.indexOf("\r\n\r\n")).toBe(said.length - 4)
      expect(said).toMatch(new RegExp(`\r\ncontent-length: ${length}\r\n`, "i"))
      expect(said).toMatch(/\r\nx-gw-request-id: req_/i)
      expect(said).toMatch(/\r\ncontent-type: application\/json\r\n/i)
    })
  }
  for (const path of ["/models/a/b/endpoints", "/models/acme/nothing/endpoints", "/models/..%2f..%2fetc/x/endpoints"]) {
    badInput(68, `GET ${path}`, () =>
      refused(() => gateway.call(path), { status: 404, says: /^This model does not exist\.$/ }),
    )
  }
}
