/** A key with a limit, its spend, reservations and ledger rows: what a test of money reads before and after. */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type { KeyId } from "../../../src/domain/ids.ts"
import type { Picodollars } from "../../../src/domain/price/money.ts"
import { KeyStore } from "../../../src/services/keys/KeyStore.ts"
import { Meter } from "../../../src/services/money/Meter.ts"
import type { LedgerRow } from "../../../src/services/storage/ledger.ts"
import { Storage } from "../../../src/services/storage/Storage.ts"
import type { TestGateway } from "./gateway.ts"

export interface TestAccount {
  /** The key itself, as a caller sends it. */
  readonly secret: string
  readonly id: KeyId
  /** A chat with `acme/small` unless the body says otherwise. */
  readonly chat: (body: Readonly<Record<string, unknown>>) => Promise<Response>
  /** Newest first. */
  readonly rows: () => Promise<ReadonlyArray<LedgerRow>>
  readonly reserved: () => Promise<Picodollars>
  readonly total: () => Promise<Picodollars>
}

/** A new key with a limit, of ten dollars where none is given, so that each of its requests reserves money. `null`: without one. */
export const openAccount = async (
  gateway: TestGateway,
  {
    limit = 10_000_000_000_000n,
    owner = null,
  }: { readonly limit?: Picodollars | null; readonly owner?: string | null } = {},
): Promise<TestAccount> => {
  const secret = await gateway.newKey({ limit, owner })
  const { id } = await gateway.run(Effect.flatMap(KeyStore, (keys) => keys.authenticate(Redacted.make(secret))))
  const spent = () => gateway.run(Effect.flatMap(Meter, (meter) => meter.spent(id)))
  return {
    secret,
    id,
    chat: (body) => gateway.chat({ model: "acme/small", ...body }, { headers: { authorization: `Bearer ${secret}` } }),
    rows: () => gateway.run(Effect.flatMap(Storage, (storage) => storage.ledger.rows(id, 10_000))),
    reserved: async () => (await spent()).reserved,
    total: async () => (await spent()).total,
  }
}
