/** Calls a running gateway with the management key of the environment. */
import * as Options from "@effect/cli/Options"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { withoutProxy } from "../app/start/probeGateway.ts"
import { sectionHere } from "../config/loadConfig.ts"
import { localUrl } from "../config/localUrl.ts"
import { badConfig, CommandFailed, exitCodes, wrongUse } from "./CommandFailed.ts"
import { plain } from "./output.ts"

/** `--url` of all commands that speak to a gateway. */
export const urlOption = Options.text("url").pipe(
  Options.withDescription("the gateway, such as https://gateway.acme.example; else that of the configuration here"),
  Options.optional,
)

/** How long to wait for an answer, in milliseconds; for a download, whose database is copied first; and for each piece of it. */
const patienceMs = 30_000
const copyPatienceMs = 1_800_000
const piecePatienceMs = 60_000

export interface GatewayCall {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE"
  /** From `/api/v1` on, such as `/keys`. */
  readonly path: string
  readonly body?: unknown
}

export interface Download {
  readonly headers: Headers
  /** Waits for each piece to be used. Fails where the answer breaks off, or with the `CommandFailed` that `use` rejects with. */
  readonly pieces: (use: (piece: Uint8Array) => Promise<void>) => Effect.Effect<void, CommandFailed>
}

export interface Gateway {
  /** A GET whose answer may be long. */
  readonly download: (path: string) => Effect.Effect<Download, CommandFailed>
  /** The answer's body. Fails with the error that the gateway answers, in one line. */
  readonly call: <A, I>(call: GatewayCall, answer: Schema.Schema<A, I>) => Effect.Effect<A, CommandFailed>
}

/** The address of the gateway that the configuration of this directory describes. */
const configured = sectionHere("server").pipe(
  Effect.map(localUrl),
  Effect.mapError(({ problems }) => badConfig(problems)),
)

/** With or without `/api/v1` at its end. A text that may hold a password is not quoted. */
const baseOf = (url: string): Effect.Effect<string, CommandFailed> => {
  if (/[@?#]/.test(url)) return Effect.fail(wrongUse("--url: expected an address without user, password, query and #"))
  return /^https?:$/.test(URL.parse(url)?.protocol ?? "")
    ? Effect.succeed(`${url.replace(/\/+$/, "").replace(/\/api\/v1$/, "")}/api/v1`)
    : Effect.fail(wrongUse(`--url: expected an address such as http://127.0.0.1:8787, got "${plain(url)}"`))
}

const unanswered = "no answer from"

const Issues = Schema.Struct({
  issues: Schema.Array(Schema.Struct({ path: Schema.String, message: Schema.String })),
  /** Faults that are not among the issues. */
  more: Schema.optionalWith(Schema.Number, { default: () => 0 }),
})
const ErrorAnswer = Schema.Struct({
  error: Schema.Struct({ message: Schema.String, metadata: Schema.optional(Schema.Unknown) }),
})
const errorIn = Schema.decodeUnknownOption(Schema.parseJson(ErrorAnswer))
const issuesIn = Schema.decodeUnknownOption(Issues)

/** What the gateway says is wrong: where there are several faults all of them, since its message names the first one alone. */
const complaint = ({ error: { message, metadata } }: typeof ErrorAnswer.Type): string => {
  const { issues, more } = Option.getOrElse(issuesIn(metadata), () => ({ issues: [], more: 0 }))
  if (issues.length < 2) return message
  const faults = issues.map(({ path, message: fault }) => (path === "" ? fault : `${path}: ${fault}`))
  return [...faults, ...(more === 0 ? [] : [`and ${more} more`])].join("; ")
}

export const connect = (url: Option.Option<string>): Effect.Effect<Gateway, CommandFailed> =>
  Effect.gen(function* () {
    const key = (process.env["HEADGATE_MANAGEMENT_KEY"] ?? "").trim()
    if (key === "")
      return yield* wrongUse("HEADGATE_MANAGEMENT_KEY is not set: it has to be a management key of the gateway")
    const base = yield* baseOf(Option.isSome(url) ? url.value : yield* configured)

    withoutProxy(base)
    const hint = Option.isSome(url) ? "" : "; --url names another address"

    const trying = <A>(what: string, attempt: () => Promise<A>) =>
      Effect.tryPromise({
        try: attempt,
        catch: (cause) => {
          if (cause instanceof CommandFailed) return cause
          const why = plain(cause instanceof Error ? cause.message : String(cause))
          return new CommandFailed({
            code: exitCodes.noGateway,
            message: `${what} ${base}: ${why}${what === unanswered ? hint : ""}`,
          })
        },
      })
    const send = ({ method, path, body }: GatewayCall, signal: AbortSignal) =>
      fetch(base + path, {
        method,
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        redirect: "error",
        signal,
      })
    const fetched = (call: GatewayCall) =>
      trying(unanswered, async () => {
        const response = await send(call, AbortSignal.timeout(patienceMs))
        return { status: response.status, text: await response.text() }
      })
    const failed = (message: string) =>
      Effect.fail(new CommandFailed({ code: exitCodes.failed, message: plain(message) }))
    const refused = ({ status, text }: { readonly status: number; readonly text: string }) => {
      const said = Option.map(errorIn(text), complaint)
      return failed(`the gateway answered ${status}: ${Option.getOrElse(said, () => text.slice(0, 200))}`)
    }

    return {
      download: (path) =>
        Effect.gen(function* () {
          const aborter = new AbortController()
          const within = async <A>(milliseconds: number, attempt: Promise<A>): Promise<A> => {
            const late = setTimeout(
              () => aborter.abort(new Error(`nothing for ${milliseconds / 1000} seconds`)),
              milliseconds,
            )
            return attempt.finally(() => clearTimeout(late))
          }
          const response = yield* trying(unanswered, () =>
            within(copyPatienceMs, send({ method: "GET", path }, aborter.signal)),
          )
          if (!response.ok)
            return yield* refused({
              status: response.status,
              text: yield* trying(unanswered, () => response.text()),
            })
          const pieces: Download["pieces"] = (use) =>
            trying("the answer broke off at", async () => {
              const reader = response.body?.getReader()
              for (;;) {
                const next = await within(piecePatienceMs, reader?.read() ?? Promise.resolve(undefined))
                if (next?.value === undefined) return
                await use(next.value)
              }
            })
          return { headers: response.headers, pieces }
        }),
      call: (call, answer) =>
        Effect.flatMap(fetched(call), ({ status, text }) => {
          if (status < 200 || status > 299) return refused({ status, text })
          return Effect.catchAll(Schema.decode(Schema.parseJson(answer))(text), () =>
            failed(`${base}${call.path} did not answer as a Headgate does`),
          )
        }),
    }
  })
