/**
 * `GET /console` and what is below it: the console's page and its files. `GET /` leads there in a browser, where the gateway is a process of
 * its own. Both need no key, since nothing of the installation is in them.
 */
import * as HttpLayerRouter from "@effect/platform/HttpLayerRouter"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import { answering, unobservedAnswer } from "../answer.ts"
import { ControlSettings } from "../control/ControlSettings.ts"
import { Mount, type Prefix } from "../Mount.ts"
import { noSuchRoute, wrongPathAt } from "../wrongPaths.ts"
import {
  type ConsoleFile,
  type ConsoleFiles,
  ConsoleFolder,
  encodingFor,
  indexName,
  readConsole,
} from "./ConsoleFiles.ts"
import { consoleHeaders, immutable, revalidated } from "./consoleHeaders.ts"

const consolePath = "/console"

/** Below it every name has a hash. */
const assets = "assets/"

export const consoleRoutes = HttpLayerRouter.use((router) =>
  Effect.gen(function* () {
    const { console: isOn = true } = yield* ControlSettings
    if (!isOn) return
    const { prefix, hasRoot } = yield* Mount
    const path: `/${string}` = `${prefix}${consolePath}`
    const answer = unobservedAnswer(consoleAnswer(path, yield* ConsoleFolder))
    yield* router.add("GET", path, answer)
    yield* router.add("GET", `${path}/*`, answer)
    if (hasRoot) yield* router.add("GET", "/", yield* rootAnswer(prefix, path))
  }),
)

const consoleAnswer = (path: string, folder: string) => {
  let reading: Promise<ConsoleFiles | undefined> | undefined
  const files = Effect.promise(async () => {
    reading ??= readConsole(folder, `${path}/`)
    const read = await reading
    // It may be built while the gateway runs.
    if (read === undefined) reading = undefined
    return read
  })
  return Effect.gen(function* () {
    const { url, headers } = yield* HttpServerRequest.HttpServerRequest
    const [asked = ""] = url.split("?", 1)
    if (asked !== path && !asked.startsWith(`${path}/`)) return yield* noSuchRoute
    const found = yield* files
    if (found === undefined) return unbuilt
    const name = asked.slice(path.length + 1)
    const file = found.get(name)
    if (file !== undefined && name.startsWith(assets)) return answerOf(file, headers, immutable)
    // A file that is not there must not be answered by a page: a browser would take that for the script.
    const page = name.startsWith(assets) ? undefined : (file ?? found.get(indexName))
    return page === undefined ? yield* noSuchRoute : answerOf(page, headers, revalidated)
  })
}

const answerOf = (
  file: ConsoleFile,
  headers: Readonly<Record<string, string | undefined>>,
  caching: Readonly<Record<string, string>>,
): HttpServerResponse.HttpServerResponse => {
  const encoding = encodingFor(file, headers["accept-encoding"])
  const etag = `"${file.hash}${encoding === undefined ? "" : `-${encoding}`}"`
  const about = { ...consoleHeaders, ...caching, etag, vary: "Accept-Encoding" }
  const known = (headers["if-none-match"] ?? "").split(",").map((each) => each.trim().replace(/^W\//, ""))
  if (known.includes(etag)) return HttpServerResponse.empty({ status: 304, headers: about })
  return HttpServerResponse.uint8Array((encoding && file.compressed.get(encoding)) ?? file.content, {
    contentType: file.contentType,
    headers: encoding === undefined ? about : { ...about, "content-encoding": encoding },
  })
}

/** A page without a style: the policy allows none that is inline. */
const unbuilt = HttpServerResponse.text(
  `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Headgate: the console is not built</title>
<h1>The console is not built</h1>
<p>In a clone of the repository, build it with <code>bun scripts/consolePackages.ts &amp;&amp; bun scripts/console.ts</code>, and load this page again. A released package has it.</p>
<p>The API is at <code>/api/v1</code>, its description at <code>/docs</code>. <code>server.console: false</code> leaves the console out.</p>
</html>
`,
  {
    status: 404,
    contentType: "text/html; charset=utf-8",
    headers: { ...consoleHeaders, "cache-control": "no-store" },
  },
)

/** Leads a browser to the console. A program that calls `/` has a wrong base URL, and is told so. */
const rootAnswer = Effect.fnUntraced(function* (prefix: Prefix, path: string) {
  const answered = yield* answering
  const { failure, body } = wrongPathAt(prefix, "/")
  const refused = answered("GET *", Effect.fail(failure), body)
  const led = unobservedAnswer(
    Effect.succeed(HttpServerResponse.empty({ status: 302, headers: { location: path, vary: "Accept" } })),
  )
  return Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) =>
    (headers["accept"] ?? "").includes("text/html") ? led : refused,
  )
})
