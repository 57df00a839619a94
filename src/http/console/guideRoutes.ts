/**
 * `GET /docs/guide` and what is below it: the pages of the documentation, with search. Without a key, since nothing of the installation is
 * in them. Where they are not built, the list of the Markdown files.
 */
import * as HttpLayerRouter from "@effect/platform/HttpLayerRouter"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import { unobservedAnswer } from "../answer.ts"
import { Mount } from "../Mount.ts"
import { noSuchRoute } from "../wrongPaths.ts"
import { BuiltGuide, GuideFolder, markdownPages } from "./GuideFiles.ts"
import { readOnce } from "./readOnce.ts"
import type { StaticFile } from "./StaticFile.ts"

const guidePath = "/docs/guide"

export const guideRoutes = HttpLayerRouter.use((router) =>
  Effect.gen(function* () {
    const { prefix } = yield* Mount
    const path: `/${string}` = `${prefix}${guidePath}`
    const answer = unobservedAnswer(yield* guideAnswer(path))
    yield* router.add("GET", path, answer)
    yield* router.add("GET", `${path}/*`, answer)
  }),
)

const guideAnswer = (path: string) =>
  Effect.map(GuideFolder, (folders) => {
    const guide = Effect.promise(readOnce(() => BuiltGuide.open(folders.guide, `${path}/`)))
    return Effect.gen(function* () {
      const { url, headers } = yield* HttpServerRequest.HttpServerRequest
      const [asked = ""] = url.split("?", 1)
      if (asked !== path && !asked.startsWith(`${path}/`)) return yield* noSuchRoute
      const name = asked.slice(path.length + 1)
      const built = yield* guide
      if (built === undefined) return yield* markdownAnswer(folders.markdown, path, name)
      if (asked === path || built.hasPage(name)) {
        return HttpServerResponse.empty({ status: 302, headers: { location: `${asked}/` } })
      }
      const file = yield* Effect.promise(() => built.find(name))
      if (file === undefined) return yield* noSuchRoute
      return answerOf(file, headers["if-none-match"], policyOf(built.scripts))
    })
  })

const answerOf = (
  file: StaticFile,
  known: string | undefined,
  policy: string,
): HttpServerResponse.HttpServerResponse => {
  const etag = `"${file.hash}"`
  const about = { ...safe, "content-security-policy": policy, "cache-control": "no-cache", etag }
  if (known === etag) return HttpServerResponse.empty({ status: 304, headers: about })
  return HttpServerResponse.uint8Array(file.content, { contentType: file.contentType, headers: about })
}

const safe = {
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
} as const

/** The guide's own scripts by their hashes; its search runs WebAssembly, and its pages have styles of their own. Nothing from another address. */
const policyOf = (scripts: ReadonlyArray<string>): string =>
  [
    "default-src 'none'",
    `script-src 'self' 'wasm-unsafe-eval' ${scripts.map((hash) => `'${hash}'`).join(" ")}`,
    "worker-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ")

/** A list of the pages, or one of them as it is written. */
const markdownAnswer = (folder: string, path: string, name: string) =>
  Effect.gen(function* () {
    const pages = yield* Effect.promise(() => markdownPages(folder))
    if (name === "") return listOf([...pages.keys()], path)
    const read = pages.get(name) ?? pages.get(`${name}.md`)
    if (read === undefined) return yield* noSuchRoute
    return HttpServerResponse.uint8Array(yield* Effect.promise(read), {
      contentType: "text/markdown; charset=utf-8",
      headers: safe,
    })
  })

const listOf = (names: ReadonlyArray<string>, path: string): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.text(
    `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Headgate: the guide</title>
<h1>The guide</h1>
<p>Its site is not built here: <code>bun install && bun run build</code> in <code>site/</code> does that. These are its pages as they are written.</p>
<ul>
${names.map((name) => `<li><a href="${path}/${name}">${name}</a></li>`).join("\n")}
</ul>
</html>
`,
    {
      contentType: "text/html; charset=utf-8",
      headers: {
        ...safe,
        "content-security-policy": "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
        "cache-control": "no-store",
      },
    },
  )
