/** The API's description: `GET /api/v1/openapi.json`, and `GET /docs`, which shows it as a page. Both without a key. */
import * as HttpLayerRouter from "@effect/platform/HttpLayerRouter"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import type { Prefix } from "../Mount.ts"
import { apiAt } from "./Api.ts"

const docsPath = "/docs"

/** Both pages for routes at `prefix`. Each is made when it is first asked for, since that takes longer than the rest of the routes. */
export const referencePages = (prefix: Prefix) => {
  let document: HttpServerResponse.HttpServerResponse | undefined
  let page: Promise<HttpServerResponse.HttpServerResponse> | undefined
  return [
    {
      path: "/api/v1/openapi.json",
      answer: Effect.sync(() => {
        document ??= HttpServerResponse.unsafeJson(OpenApi.fromApi(apiAt(prefix)))
        return document
      }),
    },
    {
      path: docsPath,
      answer: Effect.promise(() => {
        page ??= makePage(prefix)
        return page
      }),
    },
  ] as const
}

/** Swagger UI with the document, both in the page itself. The renderer is 2 MB, so it is loaded when it is first asked for. */
const makePage = async (prefix: Prefix): Promise<HttpServerResponse.HttpServerResponse> => {
  const { layerHttpLayerRouter } = await import("@effect/platform/HttpApiSwagger")
  // The layer adds a route, and the page is what that route answers.
  const route = layerHttpLayerRouter({ api: apiAt(prefix), path: docsPath })
  const { handler, dispose } = HttpLayerRouter.toWebHandler(route, { disableLogger: true })
  const response = await handler(new Request(`http://localhost${docsPath}`))
  const html = await response.text()
  await dispose()
  return HttpServerResponse.uint8Array(new TextEncoder().encode(html), {
    contentType: "text/html; charset=utf-8",
    headers: {
      "content-security-policy": policyFor(html),
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
    },
  })
}

/** Allows the page's own scripts, by their hashes, and calls to this gateway: nothing from another address. */
const policyFor = (html: string): string => {
  const scripts = Array.from(html.matchAll(/<script>([\s\S]*?)<\/script>/g), ([, code = ""]) => {
    return `'sha256-${new Bun.CryptoHasher("sha256").update(code).digest("base64")}'`
  })
  return [
    "default-src 'none'",
    `script-src ${scripts.join(" ")}`,
    "style-src 'unsafe-inline'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ")
}
