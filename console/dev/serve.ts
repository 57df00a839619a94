/**
 * The console with a scripted API, for those who work on it: figures of a year, each state that a view can have. Keys: `sk-all`,
 * `sk-keys`, `sk-read` (management, by role) and `sk-own`. Paths that are not scripted go to a gateway, where one is named.
 *
 *     bun console/dev/serve.ts [--port=0] [--fresh] [--slow=800] [--gateway=http://127.0.0.1:8787]
 */
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { buildConsole } from "../../scripts/console.ts"
import type { Session } from "../api/types.ts"
import { matched } from "../lib/address.ts"
import { freshRoutes, routes, sessions } from "./routes.ts"

const { values: flags } = parseArgs({
  options: {
    port: { type: "string", default: "0" },
    fresh: { type: "boolean", default: false },
    slow: { type: "string", default: "0" },
    gateway: { type: "string" },
  },
})

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

const folder = fileURLToPath(new URL("../../bundle/console/", import.meta.url))

const failed = (status: number, message: string) => Response.json({ error: { code: status, message } }, { status })

const sessionOf = (key: string): Session | null => {
  const known = sessions[key]
  if (known === undefined) return null
  const now = Date.now()
  return {
    ...known,
    label: "sk-gw-abc...xyz",
    hash: `${key.padEnd(64, "0")}`,
    created_at: new Date(now).toISOString(),
    expires_at: new Date(now + 8 * 3_600_000).toISOString(),
    idle_ends_at: new Date(now + 30 * 60_000).toISOString(),
    version: "0.1.0",
    public_url: null,
  }
}

const sessionOfCookie = (request: Request): Session | null =>
  sessionOf(/headgate=([^;]+)/.exec(request.headers.get("cookie") ?? "")?.[1] ?? "")

const answerSession = async (request: Request): Promise<Response> => {
  if (request.method === "POST") {
    const { key } = (await request.json()) as { readonly key: string }
    const session = sessionOf(key)
    if (session === null) return failed(401, "User not found.")
    return Response.json(
      { data: session },
      { headers: { "set-cookie": `headgate=${key}; HttpOnly; Path=/; SameSite=Strict` } },
    )
  }
  if (request.method === "DELETE") {
    return Response.json({ deleted: true }, { headers: { "set-cookie": "headgate=; Max-Age=0; Path=/" } })
  }
  return Response.json({ data: sessionOfCookie(request) })
}

const answerApi = async (request: Request, url: URL): Promise<Response> => {
  const path = url.pathname.slice("/api/v1".length)
  if (path === "/session") return answerSession(request)
  const session = sessionOfCookie(request)
  if (session === null) return failed(401, "User not found.")
  await Bun.sleep(Number(flags.slow))
  for (const [route, handler] of Object.entries(flags.fresh ? freshRoutes : routes)) {
    const [method = "", pattern = ""] = route.split(" ")
    const names = method === request.method ? matched(pattern, path) : null
    if (names === null) continue
    const text = await request.text()
    const body: unknown = text === "" ? null : JSON.parse(text)
    const answer = handler({ query: url.searchParams, names, body, session, now: Date.now() })
    return answer instanceof Response ? answer : Response.json(answer)
  }
  if (flags.gateway === undefined) return failed(404, `The mock has no ${request.method} ${path}.`)
  return fetch(`${flags.gateway}${url.pathname}${url.search}`, request)
}

const answerFile = async (path: string): Promise<Response> => {
  const file = Bun.file(folder + path.replace(/^\/console\/?/, ""))
  const isFile = path.startsWith("/console/assets/")
  if (isFile && !(await file.exists())) return failed(404, "No such file.")
  return new Response(isFile ? file : Bun.file(`${folder}index.html`), {
    headers: { "content-security-policy": policy, "cache-control": "no-store", "x-content-type-options": "nosniff" },
  })
}

await buildConsole()
const server = Bun.serve({
  hostname: "127.0.0.1",
  port: Number(flags.port),
  fetch: async (request) => {
    const url = new URL(request.url)
    if (url.pathname.startsWith("/api/v1/")) return answerApi(request, url)
    // Looks whether the sources have changed, so that a reload of the page is enough.
    if (!url.pathname.includes("/assets/")) await buildConsole()
    return answerFile(url.pathname)
  },
})
console.log(`${server.url.origin}/console`)
