/** `headgate requests`: what was asked, refused and failed, the newest first, from `GET /api/v1/requests`. */
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { type CommandFailed, wrongUse } from "../CommandFailed.ts"
import { connect, type Gateway, urlOption } from "../gatewayClient.ts"
import { jsonOption } from "../keyFlags.ts"
import { findHash } from "../keys/keyRecords.ts"
import { write, writeJson, writeLines, writeTable } from "../output.ts"
import { follow } from "./follow.ts"
import { showOne } from "./oneRequest.ts"
import { columns, Page, readRequests, timeOf, UnknownPage, unknownColumns } from "./requestRecords.ts"

const text = (name: string, about: string) => Options.text(name).pipe(Options.withDescription(about), Options.optional)

const filterFlags = {
  key: text("key", "of this key: its name, its hash, or at least 6 characters of the hash's beginning"),
  status: text("status", "with this status, or one of a class: 429, 4xx"),
  outcome: text(
    "outcome",
    "that ended so, such as policy_rate_limited, or by whose doing: caller, policy, host, gateway",
  ),
  model: text("model", "of this model"),
  host: text("host", "that this host answered, by its tag"),
  provider: text("provider", "that a host of this provider answered, by its slug"),
  app: text("app", "of this app, by its title or URL"),
  user: text("user", "of this end user, as the request named them"),
}

interface Flags {
  readonly [name: string]: Option.Option<string>
}

/** `&name=value` of each flag that was given. */
const queryOf = (flags: Flags): string =>
  Object.entries(flags)
    .map(([name, value]) => (Option.isSome(value) ? `&${name}=${encodeURIComponent(value.value)}` : ""))
    .join("")

/** The newest ones, at most `limit`, and the place after them. */
const newest = (gateway: Gateway, query: string, limit: number) =>
  Effect.gen(function* () {
    const data: Array<unknown> = []
    let position = ""
    for (let next: string | null = ""; next !== null && data.length < limit; ) {
      const after = next === "" ? "" : `&after=${next}`
      const path = `/requests?limit=${Math.min(1000, limit - data.length)}${query}${after}`
      const page: typeof Page.Type = yield* gateway.call({ method: "GET", path }, Page)
      data.push(...page.data)
      if (position === "") position = page.position
      next = page.next
    }
    return { data, position }
  })

const showUnknown = (gateway: Gateway, span: string, limit: number, json: boolean) =>
  Effect.gen(function* () {
    const path = `/requests/unknown?limit=${Math.min(limit, 1000)}${span}`
    const { data } = yield* gateway.call({ method: "GET", path }, UnknownPage)
    if (json) return yield* writeJson(data)
    return yield* writeTable(data, unknownColumns, { empty: "no request without a known key was refused" })
  })

export const requests = Command.make(
  "requests",
  {
    ...filterFlags,
    since: text("since", "that began since then: 15m, 1h, 7d, or a time such as 2026-07-15T09:30:00Z"),
    until: text("until", "that began before then, in the same forms"),
    limit: Options.integer("limit").pipe(
      Options.withDescription("at most so many; default 50, with --follow 10"),
      Options.optional,
    ),
    follow: Options.boolean("follow").pipe(
      Options.withDescription("go on with those that come, the newest last, until Ctrl-C"),
    ),
    unknown: Options.boolean("unknown").pipe(
      Options.withDescription("how many were refused without a known key, by minute, address and status"),
    ),
    id: text(
      "id",
      "one request, by its id or that of its generation: the hosts of its plan, and its price line by line",
    ),
    json: jsonOption,
    url: urlOption,
  },
  ({ key, since, until, limit, follow: isFollowing, unknown, id, json, url, ...others }) =>
    Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const from = Option.isSome(since) ? `&from=${yield* timeOf(since.value, now)}` : ""
      const to = Option.isSome(until) ? `&to=${yield* timeOf(until.value, now, "--until")}` : ""
      if (isFollowing && to !== "") return yield* wrongUse("--until cannot be used with --follow")
      const span = `${from}${to}`
      const gateway = yield* connect(url)
      if (Option.isSome(id)) return yield* showOne(gateway, id.value, json)
      const most = Option.getOrElse(limit, () => (isFollowing ? 10 : 50))
      if (unknown) return yield* showUnknown(gateway, span, most, json)
      const hash = Option.isSome(key) ? `&key_hash=${yield* findHash(gateway, key.value, ["ordinary"])}` : ""
      const filters = `${hash}${queryOf(others)}`
      const { data, position } = yield* newest(gateway, `${filters}${span}`, most)
      if (!isFollowing) return yield* json ? writeJson(data) : show(data)
      const shown = data.toReversed()
      const go = json ? showJsonLines : showLines
      yield* go(shown)
      return yield* follow(gateway, { filters, position, show: go, shown })
    }),
).pipe(Command.withDescription("Requests, the newest first: who asked for what, how it ended, and why."))

const show = (data: ReadonlyArray<unknown>): Effect.Effect<void, CommandFailed> =>
  Effect.flatMap(readRequests(data), (all) =>
    writeTable(all, columns, { empty: "no such requests", isFaint: ({ outcome }) => outcome === "ok" }),
  )

const showLines = (data: ReadonlyArray<unknown>): Effect.Effect<void, CommandFailed> =>
  Effect.flatMap(readRequests(data), (all) => writeLines(all, columns))

const showJsonLines = (data: ReadonlyArray<unknown>): Effect.Effect<void> =>
  data.length === 0 ? Effect.void : write(data.map((one) => JSON.stringify(one)).join("\n"))
