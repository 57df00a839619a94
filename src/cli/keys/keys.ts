/** `headgate keys …`: makes, lists, shows, revokes and limits keys of a running gateway. */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { inOrder } from "../../domain/json/inOrder.ts"
import { factsOf, keyFields, kindOf } from "../../domain/keys/key.ts"
import { limitResets } from "../../domain/keys/limitWindows.ts"
import { connect } from "../gatewayClient.ts"
import { common, keyArgument, members, nameArgument } from "../keyFlags.ts"
import { treeOf } from "../misspelt.ts"
import { type Column, write, writeJson, writeRecord, writeTable } from "../output.ts"
import { creationFlags, membersGiven, valueOf } from "./fieldFlags.ts"
import { change, disable, enable, rename, rotate } from "./keyChanges.ts"
import {
  findHash,
  KeyAnswer,
  listKeys,
  membersOf,
  readKey,
  shortHash,
  shownMembers,
  shownOf,
  stateOf,
  usd,
} from "./keyRecords.ts"

const create = Command.make(
  "create",
  {
    name: nameArgument,
    fields: creationFlags,
    ...common,
  },
  ({ name, fields, json, url }) =>
    Effect.gen(function* () {
      const body = { name, ...(yield* membersGiven("atCreation", fields)) }
      const gateway = yield* connect(url)
      const Created = Schema.Struct({ ...KeyAnswer.fields, key: Schema.String })
      const answer = yield* gateway.call({ method: "POST", path: "/keys", body }, Created)
      yield* json ? writeJson(answer) : writeRecord([["key", answer.key], ...membersOf(yield* readKey(answer.data))])
    }),
).pipe(Command.withDescription("Makes a key, and shows it this once."))

type ListedKey = Effect.Effect.Success<ReturnType<typeof readKey>>

const fieldColumns = Object.fromEntries(
  shownMembers.flatMap((member): ReadonlyArray<[string, Column<ListedKey>]> => {
    const { heading } = factsOf(member)
    if (heading === undefined) return []
    const align = kindOf(member).stored === "money" ? ({ align: "right" } as const) : {}
    return [[heading, { title: heading, value: (key) => shownOf(key, member), ...align }]]
  }),
)

const columns = Object.values(
  inOrder<Record<string, Column<ListedKey>>>(
    {
      ...fieldColumns,
      HASH: { title: "HASH", value: ({ hash }) => hash, short: shortHash },
      STATE: { title: "STATE", value: stateOf },
      LEFT: { title: "LEFT", value: ({ limit_remaining }) => usd(limit_remaining), align: "right" },
      SPENT: { title: "SPENT", value: ({ usage }) => usd(usage), align: "right" },
    },
    { LABEL: ["STATE"] },
  ),
)

const roleColumn: Column<ListedKey> = { title: "ROLE", value: (key) => shownOf(key, "role") }

const listCommand = Command.make(
  "list",
  {
    all: Options.boolean("all").pipe(Options.withDescription("disabled keys, too")),
    management: Options.boolean("management").pipe(
      Options.withDescription("management keys, with their roles, in place of ordinary ones"),
    ),
    tag: Options.text("tag").pipe(
      Options.withDescription("only those with this tag, among the newest 100,000 keys"),
      Options.optional,
    ),
    ...common,
  },
  ({ all, management, tag, json, url }) =>
    Effect.gen(function* () {
      const kind = management ? "management" : "ordinary"
      const tagged = Option.isSome(tag) ? { tag: tag.value } : {}
      const data = yield* listKeys(yield* connect(url), { includeDisabled: all, kind, ...tagged })
      if (json) return yield* writeJson(data)
      const keys = yield* Effect.forEach(data, readKey)
      yield* writeTable(keys, management ? [...columns, roleColumn] : columns, {
        empty: "no keys",
        isFaint: (key) => stateOf(key) !== "active",
      })
    }),
).pipe(Command.withDescription("Lists keys, newest first."))

const show = Command.make("show", { key: keyArgument, ...common }, ({ key, json, url }) =>
  Effect.gen(function* () {
    const gateway = yield* connect(url)
    const path = `/keys/${yield* findHash(gateway, key)}`
    const { data } = yield* gateway.call({ method: "GET", path }, KeyAnswer)
    yield* json ? writeJson(data) : writeRecord(membersOf(yield* readKey(data)))
  }),
).pipe(Command.withDescription("Shows a key with its limits and what it has spent."))

const revoke = Command.make("revoke", { key: keyArgument, ...common }, ({ key, json, url }) =>
  Effect.gen(function* () {
    const gateway = yield* connect(url)
    const hash = yield* findHash(gateway, key)
    const Deleted = Schema.Struct({ deleted: Schema.Literal(true) })
    const answer = yield* gateway.call({ method: "DELETE", path: `/keys/${hash}` }, Deleted)
    yield* json ? writeJson({ ...answer, hash }) : write(`revoked ${hash}`)
  }),
).pipe(Command.withDescription("Deletes a key for ever, and ends its running requests. Its bills stay."))

const limit = Command.make(
  "limit",
  {
    key: keyArgument,
    amount: Args.text({ name: "usd" }).pipe(Args.withDescription("most that it may spend, in USD, or none")),
    reset: Options.choice("reset", [...limitResets, "never"]).pipe(
      Options.withDescription("how often the limit starts anew; unchanged without this flag"),
      Options.optional,
    ),
    ...common,
  },
  ({ key, amount, reset, json, url }) =>
    Effect.gen(function* () {
      const body = members({
        limit: Option.some(yield* valueOf(keyFields.limit.flag, amount)),
        limit_reset: Option.map(reset, (interval) => (interval === "never" ? null : interval)),
      })
      const gateway = yield* connect(url)
      const path = `/keys/${yield* findHash(gateway, key)}`
      const { data } = yield* gateway.call({ method: "PATCH", path, body }, KeyAnswer)
      yield* json ? writeJson(data) : writeRecord(membersOf(yield* readKey(data)))
    }),
).pipe(Command.withDescription("Sets how much a key may spend."))

const leaves = [create, listCommand, show, limit, change, rename, disable, enable, rotate, revoke] as const

const group = Command.make("keys").pipe(
  Command.withDescription("Keys of a running gateway. HEADGATE_MANAGEMENT_KEY has to be set."),
  Command.withSubcommands(leaves),
)

export const keys = {
  command: group,
  tree: treeOf(
    group,
    leaves.map((leaf) => treeOf(leaf)),
  ),
}
