/** The paths of the data plane: for its routes, for their description, and for what is said of wrong paths. */
import { type FormName, formRoutes, ofModel, type RoutePath } from "../domain/request/forms.ts"

export type Path = `/${string}`

/** Where a request of this form is sent. */
export const formPath = (form: FormName): RoutePath => formRoutes.get(form)?.[0]?.path ?? "/api/"

export const countTokensPath: RoutePath = "/api/v1/messages/count_tokens"
export const explainPath: RoutePath = "/api/v1/route/explain"

export const countTokensOfModelPath: RoutePath = ofModel("countTokens")

/** Of the models that there are, and of one. */
export const googleModelsPaths: ReadonlyArray<RoutePath> = ["/api/v1beta/models", "/api/v1beta/models/{model}"]

/** Whether a path is one of Google's form, whose clients have ways of their own to send a key. */
export const isGoogles = (path: string): boolean => path.startsWith("/api/v1beta/")
