/** Reads a catalogue that an operator names: a file, or an address that answers with one. */
import { lookup } from "node:dns/promises"
import * as Effect from "effect/Effect"
import { mayDial, reachOf, reachOfAddress, withoutBrackets } from "../upstream/addresses.ts"
import { CommandFailed, exitCodes, wrongUse } from "./CommandFailed.ts"

const mostBytes = 16 * 1_048_576

const tooLong = `more than ${mostBytes / 1_048_576} MiB`

/** The text of the file or of the answer, at most 16 MiB. */
export const catalogueText = (source: string): Effect.Effect<string, CommandFailed> =>
  /^https?:\/\//i.test(source) ? answerOf(source) : contentOf(source)

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
    if (!isLoopback) {
      const addresses = yield* Effect.tryPromise({
        try: () => lookup(withoutBrackets(url.hostname), { all: true }),
        catch: () => unreachable("its name has no address"),
      })
      const reaches = [reachOf(url.hostname), ...addresses.map(({ address }) => reachOfAddress(address))]
      if (!reaches.every((reach) => mayDial(reach, "public")))
        return yield* wrongUse(`${shown}: expected a public address, or one of this machine`)
    }
    return yield* Effect.tryPromise({
      try: () => fetched(url),
      catch: (cause) => unreachable(cause instanceof Error ? cause.message : "no answer"),
    })
  })

const loopback = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/

/** Follows no redirect, since it could lead anywhere. */
const fetched = async (url: URL): Promise<string> => {
  const response = await fetch(url, { redirect: "error", signal: AbortSignal.timeout(30_000) })
  if (response.status !== 200) throw new Error(`answered with status ${response.status}`)
  const decoder = new TextDecoder()
  let bytes = 0
  let text = ""
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength
    if (bytes > mostBytes) throw new Error(tooLong)
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}
