/**
 * Defects that the tests notice: each is one small edit of a source, and `tests` has at least one test that fails with it.
 * `bun scripts/mutants.ts` seeds them one after the other into a copy of the tree. Every guarantee deserves some: add one for each
 * mechanism that could be lost without a sound.
 */
export interface Mutant {
  readonly name: string
  /** The source, from the root of the repository. */
  readonly file: string
  /** What it says; exactly once. */
  readonly from: string
  readonly to: string
  /** Files or folders whose tests are run. */
  readonly tests: ReadonlyArray<string>
}

export const mutants: ReadonlyArray<Mutant> = [
  {
    name: "the checksum of a key is compared without case",
    file: "src/domain/keys/KeySecret.ts",
    from: "checksum(secret.slice(0, -6)) === secret.slice(-6)",
    to: "checksum(secret.slice(0, -6)).toLowerCase() === secret.slice(-6).toLowerCase()",
    tests: ["test/domain/keys/keySecret.test.ts"],
  },
  {
    name: "a deleted key leaves the cache before its row is gone",
    file: "src/services/keys/KeyStore.ts",
    from: "        yield* reached(storage.keys.remove(id, author(actor)))\n        cache.drop(id)\n",
    to: "        cache.drop(id)\n        yield* reached(storage.keys.remove(id, author(actor)))\n",
    tests: ["test/services/keyStore.test.ts"],
  },
  {
    name: "a disabled key leaves the cache before its row is changed",
    file: "src/services/keys/KeyStore.ts",
    from: "        const after = yield* reached(storage.keys.update(id, { ...patch, updatedAt: now() }, author(actor)))\n        cache.drop(id)\n",
    to: "        cache.drop(id)\n        const after = yield* reached(storage.keys.update(id, { ...patch, updatedAt: now() }, author(actor)))\n",
    tests: ["test/services/keyStore.test.ts"],
  },
  {
    name: "what follows the token in Authorization is ignored",
    file: "src/http/headers.ts",
    from: "/^bearer +(\\S+) *$/i",
    to: "/^bearer +(\\S+)/i",
    tests: ["test/http/headers.test.ts"],
  },
  {
    name: "blocks of the type container_upload pass",
    file: "src/services/payload/walk.ts",
    from: ' || plain === "container_upload"',
    to: "",
    tests: ["test/http/payload/seen.test.ts", "test/http/money/operatorsAccount.test.ts"],
  },
  {
    name: "Vary: Origin only where the origin is allowed",
    file: "src/http/cors.ts",
    from: '    if (!everyone) response.headers.append("vary", "origin")\n    const origin = request.headers.get("origin")\n    if (origin === null || !(everyone || origins.includes(origin))) return response\n',
    to: '    const origin = request.headers.get("origin")\n    if (origin === null || !(everyone || origins.includes(origin))) return response\n    if (!everyone) response.headers.append("vary", "origin")\n',
    tests: ["test/http/cors.test.ts"],
  },
  {
    name: "a chunked body of exactly the limit is refused",
    file: "src/http/readRequest.ts",
    from: "if (size > limitBytes) return new BodyTooLarge",
    to: "if (size >= limitBytes) return new BodyTooLarge",
    tests: ["test/http/bodies/bodyLimits.test.ts"],
  },
  {
    name: "one allowed address of a name lets all of its addresses be dialled",
    file: "src/upstream/http1/resolve.ts",
    from: "return alternating(allowed)",
    to: "return alternating(all)",
    tests: ["test/upstream/dial.test.ts"],
  },
  {
    name: "connections of public and private hosts share a pool",
    file: "src/upstream/http1/target.ts",
    from: "const key = `$".concat("{network} "),
    to: "const key = `",
    tests: ["test/upstream/target.test.ts"],
  },
  {
    name: "Transfer-Encoding in trailers is accepted",
    file: "src/upstream/http1/HeaderSection.ts",
    from: "this.contentLength !== -1 || this.chunked\n",
    to: "this.contentLength !== -1\n",
    tests: ["test/upstream/responseParser.test.ts"],
  },
  {
    name: "the journal is not told that a released request is closed",
    file: "src/services/money/Meter.ts",
    from: "      if (holds.close(hold)) holds.giveBack(hold, 0n)\n      journal.closed(hold)\n",
    to: "      if (holds.close(hold)) holds.giveBack(hold, 0n)\n",
    tests: ["test/http/lifecycle/journal.test.ts"],
  },
  {
    name: "the provider's key is booked with the caller's cost",
    file: "src/services/money/Booking.ts",
    from: "providerKey?.booked(booked.upstreamCost,",
    to: "providerKey?.booked(booked.cost,",
    tests: ["test/http/hosts/providerKeys.test.ts"],
  },
  {
    name: "a retry resolves with its own row, not with the one that the ledger has",
    file: "src/services/money/LedgerWriter.ts",
    from: "entry.onResolved(booked.right)",
    to: "entry.onResolved(row)",
    tests: ["test/services/money/ledgerWriter.test.ts"],
  },
  {
    name: "a lease is counted from the database's answer, not from the question",
    file: "src/services/money/ProcessLease.ts",
    from: "heldUntil = from + leaseMs - marginMs",
    to: "heldUntil = nowMs() + leaseMs - marginMs + 0 * from",
    tests: ["test/services/money/processLease.test.ts"],
  },
  {
    name: "a cost above its reservation takes more than the reservation out of the slice",
    file: "src/sql/postgres/postgresAppend.ts",
    from: "SUM(LEAST(cost, amount))",
    to: "SUM(cost)",
    tests: ["test/sql/postgres/slices.test.ts"],
  },
  {
    name: "what a provider's key spent is read before the spool was replayed",
    file: "src/sql/spool/withSpool.ts",
    from: "providerSpend: (key, now) => afterReplay(ledger.providerSpend(key, now))",
    to: "providerSpend: (key, now) => ledger.providerSpend(key, now)",
    tests: ["test/sql/spool.test.ts"],
  },
  {
    name: "media of several texts is reserved as one",
    file: "src/domain/money/Hold.ts",
    from: "(bounds.longestBytes === undefined ? 1 : bounds.mediaParts)",
    to: "1",
    tests: ["test/domain/money/hold.test.ts"],
  },
  {
    name: "one more block is reserved at most, however long the event",
    file: "src/wire/hostStream.ts",
    from: "while (this.count.isAbove) {",
    to: "if (this.count.isAbove) {",
    tests: ["test/wire/reservedBlocks.test.ts"],
  },
  {
    name: "a recovered host keeps its cooldown",
    file: "src/services/hosts/HostHealth.ts",
    from: "    state.coolsUntil = Number.NEGATIVE_INFINITY\n    this.impaired.delete(state)\n",
    to: "    this.impaired.delete(state)\n",
    tests: ["test/http/hosts/hostHealth.test.ts"],
  },
  {
    name: "one attempt too many",
    file: "src/domain/hosts/RetryBudget.ts",
    from: "this.window.total(extras) + 1 > ",
    to: "this.window.total(extras) > ",
    tests: ["test/domain/hosts/retries.test.ts"],
  },
  {
    name: "the reservation of two stopped calls is given back",
    file: "src/services/dispatch/hedge.ts",
    from: "if (left.length > 1) reserved = 0",
    to: "",
    tests: ["test/services/dispatch/hedge.test.ts"],
  },
  {
    name: "of two names of a model the last one's adjustments win",
    file: "src/services/routing/Router.ts",
    from: "if (!byHost.has(host)) byHost.set",
    to: "byHost.set",
    tests: ["test/services/router.test.ts"],
  },
  {
    name: "the connection is closed, not kept, after a complete answer",
    file: "src/services/dispatch/AnswerStream.ts",
    from: 'if (stream?.state === "ended" && !stream.isCut) attempt.exchange?.drain()\n    else attempt',
    to: "attempt",
    tests: ["test/services/dispatch/answerStream.test.ts"],
  },
  {
    name: "what is in force is not remembered, so the next reload compares with the start",
    file: "src/app/reload.ts",
    from: "          inForce = { raw: next.raw, catalogue }\n",
    to: "",
    tests: ["test/app/reload.test.ts"],
  },
  {
    name: "of several calls that wait only the first is written",
    file: "src/http/data/messages/stream.ts",
    from: "while (this.waiting.size > 0) text += this.nextCall()",
    to: "if (this.waiting.size > 0) text += this.nextCall()",
    tests: ["test/http/messages/translated.test.ts"],
  },
  {
    name: "a parameter under a name of its own in the route",
    file: "src/http/data/responses/decode.ts",
    from: 'names.push("max_tokens")',
    to: 'names.push("max_output_tokens")',
    tests: ["test/http/responses/parameters.test.ts"],
  },
  {
    name: "text_offset begins anew with each chunk",
    file: "src/http/data/completions/stream.ts",
    from: "sum + charactersIn(token), offset)",
    to: "sum + charactersIn(token), 0)",
    tests: ["test/http/completions.test.ts"],
  },
  {
    name: "a limit of the gateway counts against the host",
    file: "src/domain/failures/Verdict.ts",
    from: "  limit: none,",
    to: "  limit: doubtful,",
    tests: ["test/domain/verdict.test.ts"],
  },
  {
    name: "what one key met puts a host out for every key",
    file: "src/domain/failures/Verdict.ts",
    from: "const doubtful: Verdict = { ...failure, isDoubtful: true }",
    to: "const doubtful: Verdict = { ...failure, isDoubtful: false }",
    tests: ["test/http/hosts/onlyTheHost.test.ts"],
  },
  {
    name: "what the payload refers to is not judged before it is sent",
    file: "src/services/dispatch/encodeFor.ts",
    from: "return Either.isLeft(encoded) ? encoded : judged(withoutNeutralNames(encoded.right, request), request, host)",
    to: "return encoded",
    tests: ["test/http/payload/plugins.test.ts"],
  },
  {
    name: "members that nobody names pass to every host",
    file: "src/services/dispatch/encodeFor.ts",
    from: 'if (passes === "any" ? isPlain.test(name) : passes?.includes(name) === true) continue',
    to: "if (isPlain.test(name)) continue",
    tests: ["test/http/payload/seen.test.ts"],
  },
  {
    name: "the caller's own body is not judged",
    file: "src/http/decode/members.ts",
    from: "const found = findingInBody(body, dropped)",
    to: "const found = undefined as ReturnType<typeof findingInBody>",
    tests: ["test/http/payload"],
  },
  {
    name: "a host whose caller has left is not read on for its usage",
    file: "src/services/dispatch/AnswerStream.ts",
    from: "!this.services.readingOn.enter(this.options.context.key.id)",
    to: "true",
    tests: ["test/services/dispatch/callerLeaves.test.ts"],
  },
  {
    name: "a refused secret stays refused after its key was changed",
    file: "src/services/keys/KeyCache.ts",
    from: "    this.refused.clear()\n",
    to: "",
    tests: ["test/services/keyStore.test.ts"],
  },
  {
    name: "a broken kept connection is sent again whenever it breaks",
    file: "src/upstream/http1/ActiveExchange.ts",
    from: "if (isStale && !this.#isOnce) this.#sendAgain()",
    to: "if (!this.#isOnce) this.#sendAgain()",
    tests: ["test/upstream/connections.test.ts"],
  },
  {
    name: "hosts of other forms are kept for what only those of the caller's form can do",
    file: "src/domain/routing/routeFilters.ts",
    from: "(isInForm(host, needs) ? undefined : reason)",
    to: "(isInForm(host, needs) ? undefined : undefined)",
    tests: ["test/http/responses/compaction.test.ts", "test/http/routing/explainForms.test.ts"],
  },
  {
    name: "a compaction holds money for a usual answer, although its host is sent no bound",
    file: "src/http/data/responses/decodeCompact.ts",
    from: "    maxTokens: most.tokens,\n",
    to: "",
    tests: ["test/http/responses/compact.test.ts"],
  },
]
