/** A question to `POST /route/explain`: fields of a form, or a body that was pasted. */
import { listOf } from "./lists.ts"

export interface ExplainForm {
  readonly model: string
  readonly message: string
  readonly maxTokens: string
  readonly sort: string
  readonly order: string
  readonly only: string
  readonly ignore: string
  /** USD for a million tokens. */
  readonly maxPrompt: string
  readonly maxCompletion: string
  readonly zdr: boolean
  readonly denyCollection: boolean
  readonly noFallbacks: boolean
}

export const emptyExplain: ExplainForm = {
  model: "",
  message: "Hello",
  maxTokens: "",
  sort: "",
  order: "",
  only: "",
  ignore: "",
  maxPrompt: "",
  maxCompletion: "",
  zdr: false,
  denyCollection: false,
  noFallbacks: false,
}

const some = (name: string, list: ReadonlyArray<string>) => (list.length === 0 ? {} : { [name]: list })

const numberOf = (text: string): number | null => (/^\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : null)

/** The body of a chat completion that the fields come to. */
export const bodyOf = (form: ExplainForm): Readonly<Record<string, unknown>> => {
  const [prompt, completion, most] = [form.maxPrompt, form.maxCompletion, form.maxTokens].map(numberOf)
  const ceilings = {
    ...(prompt === null || prompt === undefined ? {} : { prompt }),
    ...(completion === null || completion === undefined ? {} : { completion }),
  }
  const provider = {
    ...(form.sort === "" ? {} : { sort: form.sort }),
    ...some("order", listOf(form.order)),
    ...some("only", listOf(form.only)),
    ...some("ignore", listOf(form.ignore)),
    ...(Object.keys(ceilings).length === 0 ? {} : { max_price: ceilings }),
    ...(form.zdr ? { zdr: true } : {}),
    ...(form.denyCollection ? { data_collection: "deny" } : {}),
    ...(form.noFallbacks ? { allow_fallbacks: false } : {}),
  }
  return {
    model: form.model.trim(),
    messages: [{ role: "user", content: form.message }],
    ...(most === null || most === undefined ? {} : { max_tokens: most }),
    ...(Object.keys(provider).length === 0 ? {} : { provider }),
  }
}

const names = ["model", "sort", "order", "only", "ignore"] as const

/** The fields as parameters of an address. The message stays out of it: addresses are kept by browsers and proxies. */
export const addressOf = (form: ExplainForm): Readonly<Record<string, string | null>> => ({
  ...Object.fromEntries(names.map((name) => [name, form[name] === "" ? null : form[name]])),
  max_tokens: form.maxTokens === "" ? null : form.maxTokens,
  max_prompt: form.maxPrompt === "" ? null : form.maxPrompt,
  max_completion: form.maxCompletion === "" ? null : form.maxCompletion,
  zdr: form.zdr ? "1" : null,
  deny: form.denyCollection ? "1" : null,
  no_fallbacks: form.noFallbacks ? "1" : null,
})

/** What an address asks for. */
export const formIn = (parameters: URLSearchParams): ExplainForm => ({
  ...emptyExplain,
  ...Object.fromEntries(names.map((name) => [name, parameters.get(name) ?? ""])),
  maxTokens: parameters.get("max_tokens") ?? "",
  maxPrompt: parameters.get("max_prompt") ?? "",
  maxCompletion: parameters.get("max_completion") ?? "",
  zdr: parameters.get("zdr") === "1",
  denyCollection: parameters.get("deny") === "1",
  noFallbacks: parameters.get("no_fallbacks") === "1",
})
