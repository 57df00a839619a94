/** Ordinary keys and rows, with members that a test can set. */

import { KeyId } from "../../src/domain/ids.ts"
import type { Author } from "../../src/domain/keys/audit.ts"
import { type KeyRecord, unlimitedKey } from "../../src/domain/keys/key.ts"
import type { LedgerRow } from "../../src/services/storage/ledger.ts"

export const alice = KeyId.make("a".repeat(64))
export const bob = KeyId.make("b".repeat(64))

export const someone: Author = { actor: KeyId.make("f".repeat(64)), at: 1_760_000_000_000 }

export const sampleKey = (id: string, members: Partial<KeyRecord> = {}): KeyRecord => ({
  ...unlimitedKey,
  id: KeyId.make(id),
  name: `key ${id}`,
  label: "sk-or-v1-abc...xyz",
  createdAt: 1_760_000_000_000,
  workspaceId: "0b3c9f5e-0000-4000-8000-000000000000",
  ...members,
})

export const sampleRow = (requestId: string, members: Partial<LedgerRow> = {}): LedgerRow => ({
  requestId,
  generationId: `gen-${requestId}`,
  key: alice,
  model: "acme/small",
  host: "acme/eu",
  provider: "acme",
  cost: 1n,
  upstreamCost: 2n,
  promptTokens: 10,
  completionTokens: 20,
  cachedTokens: 3,
  cacheWriteTokens: 4,
  reasoningTokens: 5,
  estimated: false,
  streamed: true,
  finishReason: "stop",
  outcome: "finished",
  admittedAt: 1_760_000_000_000,
  settledAt: 1_760_000_001_000,
  latencyMs: 120.5,
  durationMs: 1000,
  appTitle: "An app",
  appUrl: "https://app.example",
  strategy: "balanced",
  seed: 4_000_000_000,
  rareUsage: { cacheWrite1hTokens: 2, images: 1 },
  priceBasis: "listed",
  priceVersion: 2 ** 52 - 1,
  waived: "unreported",
  form: "chat",
  operation: "chat",
  providerKey: "",
  callerRequestId: "trace-1",
  userHash: "",
  routed: "=acme/small\n+a\n-zdr\tb\n",
  ...members,
})
