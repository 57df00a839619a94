/** The forms in which callers write their requests, by name: what they are called in the ledger and in the query of an explanation. */
import { type UnaryName, unaryNames, unaryOperations } from "./operations.ts"

/**
 * A path of the gateway. It may have one parameter, such as `{model}`, which matches everything up to the text that
 * follows it, including slashes (`formats/Target.ts`).
 */
export type RoutePath = `/api/${string}`

/** Where requests of a form are sent. */
export interface FormRoute {
  readonly method: "POST"
  readonly path: RoutePath
  /** Whether its answers are streams. Absent: the body decides. */
  readonly streamed?: boolean
}

const post = (path: RoutePath): FormRoute => ({ method: "POST", path })

/** Google's paths have the model, and what is done with it. */
export const ofModel = (method: string): RoutePath => `/api/v1beta/models/{model}:${method}`

const ownForms = [
  ["chat", [post("/api/v1/chat/completions")]],
  ["completions", [post("/api/v1/completions")]],
  ["messages", [post("/api/v1/messages")]],
  ["responses", [post("/api/v1/responses")]],
  ["compact", [post("/api/v1/responses/compact")]],
  [
    "generateContent",
    [
      { ...post(ofModel("generateContent")), streamed: false },
      { ...post(ofModel("streamGenerateContent")), streamed: true },
    ],
  ],
  ["embedContent", [post(ofModel("embedContent"))]],
  ["batchEmbedContents", [post(ofModel("batchEmbedContents"))]],
] as const satisfies ReadonlyArray<readonly [name: string, routes: ReadonlyArray<FormRoute>]>

/** A form with a name of its own, or the first form of an operation other than chat, which has the operation's name. */
export type FormName = (typeof ownForms)[number][0] | UnaryName

/**
 * The routes of each form, of which `streamed` tells them apart. The first one is the form of a body that does not say
 * which it has.
 */
export const formRoutes: ReadonlyMap<FormName, ReadonlyArray<FormRoute>> = new Map<FormName, ReadonlyArray<FormRoute>>([
  ...ownForms,
  ...unaryNames.map((name) => [name, [post(`/api/v1${unaryOperations[name].path}`)]] as const),
])

/** The name of a route in the access log, in figures and in records of requests: `POST /api/v1/chat/completions`. */
export const routeName = (method: string, path: string): string => `${method} ${path.replace(/\{(\w+)\}/g, ":$1")}`

/** The name of the route that a request of this form took; `null`: this version has no such form. */
export const routeNameOf = (form: string, streamed: boolean): string | null => {
  // A row of the ledger may have any text, and the map gives nothing for a form that it does not have.
  const routes = formRoutes.get(form as FormName) ?? []
  const route = routes.find((each) => each.streamed === undefined || each.streamed === streamed)
  return route === undefined ? null : routeName(route.method, route.path)
}
