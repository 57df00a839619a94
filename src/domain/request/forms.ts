/** The forms in which callers write their requests, by name: what they are called in the ledger and in the query of an explanation. */
import { type UnaryName, unaryNames, unaryOperations } from "./operations.ts"

/**
 * A path of the gateway. It may have one parameter, such as `{model}`: what stands there up to the text behind it, slashes too
 * (`formats/Target.ts`).
 */
export type RoutePath = `/api/${string}`

/** Where requests of a form are sent. */
export interface FormRoute {
  readonly method: "POST"
  readonly path: RoutePath
}

const post = (path: RoutePath): FormRoute => ({ method: "POST", path })

const chatForms = [
  ["chat", [post("/api/v1/chat/completions")]],
  ["completions", [post("/api/v1/completions")]],
  ["messages", [post("/api/v1/messages")]],
  ["responses", [post("/api/v1/responses")]],
  ["compact", [post("/api/v1/responses/compact")]],
] as const satisfies ReadonlyArray<readonly [name: string, routes: ReadonlyArray<FormRoute>]>

/** A form of a chat, or the first form of another operation, which has its name. */
export type FormName = (typeof chatForms)[number][0] | UnaryName

/** The routes of each form. The first one is the form of a body that does not say which it has. */
export const formRoutes: ReadonlyMap<FormName, ReadonlyArray<FormRoute>> = new Map<FormName, ReadonlyArray<FormRoute>>([
  ...chatForms,
  ...unaryNames.map((name) => [name, [post(`/api/v1${unaryOperations[name].path}`)]] as const),
])

/** The name of a route in the access log, in figures and in records of requests: `POST /api/v1/chat/completions`. */
export const routeName = (method: string, path: string): string => `${method} ${path.replace(/\{(\w+)\}/g, ":$1")}`
