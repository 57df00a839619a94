/** The paths of the data plane: for its routes, for their description, and for what is said of wrong paths. */
import { type FormName, formPaths } from "../domain/request/forms.ts"

export type Path = `/${string}`

const base = "/api/v1"

/** Below the base URL. */
export const countTokensBelow = "/messages/count_tokens"

/** Where a request of this form is sent. */
export const formPath = (form: FormName): Path => `${base}${formPaths.get(form) ?? ""}`

export const countTokensPath: Path = `${base}${countTokensBelow}`
export const explainPath: Path = `${base}/route/explain`
