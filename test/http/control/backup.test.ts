/** `GET /api/v1/backup` where the storage gives no copies. With a file: test/cli/backup.test.ts. */
import { expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Storage } from "../../../src/services/storage/Storage.ts"
import { StorageUnavailable } from "../../../src/services/storage/StorageUnavailable.ts"
import { layer as memoryStorage } from "../../../src/sql/sqlite/MemoryStorage.ts"
import { gatewayWithoutSocket } from "../../support/gateways/gateway.ts"

const asked = async (copy?: Partial<typeof Storage.Service>) => {
  const storage = Layer.map(memoryStorage, (context) => context)
  const changed = Layer.effect(
    Storage,
    Effect.map(Storage, (kept) => ({ ...kept, ...copy })),
  ).pipe(Layer.provide(storage))
  const gateway = await gatewayWithoutSocket({ storage: copy === undefined ? storage : changed })
  const headers = { authorization: `Bearer ${gateway.managementKey}` }
  const response = await gateway.call("/backup", { headers })
  const answer: unknown = await response.json()
  await gateway.stop()
  return [response.status, answer]
}

test("in memory: 400, which says so", async () => {
  const message = "storage: is memory:, so it ends with the gateway and there is nothing to keep."
  expect(await asked()).toMatchObject([400, { error: { code: 400, message, metadata: { path: "storage" } } }])
})

test("a copy that cannot be made, such as on a full disk: 503", async () => {
  const copy = Effect.fail(new StorageUnavailable({ reason: "a copy needs 90 MiB of free disk space in /data" }))
  expect(await asked({ copy })).toMatchObject([503, { error: { metadata: { error_type: "backup_unavailable" } } }])
})
