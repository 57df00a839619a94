/** Reads a catalogue that an operator names: a file, or an address that answers with one. */
import * as Effect from "effect/Effect"
import { HostFailed } from "../../domain/failures/Failure.ts"
import { mayDial, reachOf } from "../../domain/hosts/networkReach.ts"
import { withProgress } from "../../process/withProgress.ts"
import { wholeCall } from "../../services/calls/wholeCall.ts"
import { Upstream } from "../../upstream/Upstream.ts"
import { CommandFailed, exitCodes, wrongUse } from "../CommandFailed.ts"

const mostBytes = 16 * 1_048_576

const tooLong = `more than ${mostBytes / 1_048_576} MiB`

/** The text of the file or of the answer, at most 16 MiB. */
export const catalogueText = (source: string): Effect.Effect<string, CommandFailed> =>
  /^https?:\/\//i.test(source)
    ? withProgress((say) => {
        say("fetching the catalogue")
        return answerOf(source)
      })
    : contentOf(source)

const contentOf = (path: string): Effect.Effect<string, CommandFailed> =>
  Effect.gen(function* () {
    const file = Bun.file(path)
    if (file.size > mostBytes)
      return yield* new CommandFailed({ code: exitCodes.badFile, message: `${path}: ${tooLong}` })
    return yield* Effect.tryPromise({
      try: () => file.text(),
      catch: () => new CommandFailed({ code: exitCodes.noFile, message: `${path}: expected a file that can be read` }),
    })
  })

const answerOf = (source: string): Effect.Effect<string, CommandFailed> =>
  Effect.gen(function* () {
    if (!URL.canParse(source)) return yield* wrongUse(`${source}: expected a URL`)
    const url = new URL(source)
    const shown = `${url.origin}${url.pathname}`
    const unreachable = (why: string) => new CommandFailed({ code: exitCodes.noGateway, message: `${shown}: ${why}` })
    if (url.username !== "" || url.password !== "")
      return yield* wrongUse("expected a URL without user name and password")
    const isLoopback = loopback.test(url.hostname)
    if (url.protocol !== "https:" && !isLoopback)
      return yield* wrongUse(`${shown}: expected https, or an address of this machine`)
    // What a name stands for is checked where it is dialled.
    if (!isLoopback && !mayDial(reachOf(url.hostname), "public"))
      return yield* wrongUse(`${shown}: expected a public address, or one of this machine`)
    const upstream = yield* Upstream
    const call = { url: url.href, method: "GET", headers, body: null } as const
    const { status, body } = yield* wholeCall(
      upstream,
      { ...call, network: isLoopback ? "private" : "public" },
      mostBytes,
    ).pipe(
      Effect.timeoutFail({
        duration: "30 seconds",
        onTimeout: () => new HostFailed({ reason: "timeout", cause: "no answer in 30 seconds" }),
      }),
      Effect.mapError(({ reason, cause }) =>
        unreachable(cause instanceof Error ? cause.message : String(cause ?? reason)),
      ),
    )
    // No redirect is followed, since it could lead anywhere.
    if (status !== 200) return yield* unreachable(`answered with status ${status}`)
    return body
  }).pipe(Effect.provide(Upstream.layer))

const headers = { accept: "application/json", "accept-encoding": "identity" }

const loopback = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/
