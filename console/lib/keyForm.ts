/** What is typed into the form of a key, and the body of the API that it comes to. */
import { listOf } from "./lists.ts"
import { fromField, toField } from "./time.ts"

export interface KeyForm {
  readonly name: string
  /** USD; "": no limit. */
  readonly limit: string
  readonly reset: "" | "daily" | "weekly" | "monthly"
  /** "": no rate limit. */
  readonly requests: string
  readonly seconds: string
  /** Lines or commas between patterns; "": all. */
  readonly models: string
  readonly providers: string
  readonly addresses: string
  readonly tags: string
  readonly owner: string
  /** Of a field of type `datetime-local`, in the viewer's zone; "": never. */
  readonly expires: string
}

export const emptyForm: KeyForm = {
  name: "",
  limit: "",
  reset: "",
  requests: "",
  seconds: "60",
  models: "",
  providers: "",
  addresses: "",
  tags: "",
  owner: "",
  expires: "",
}

/** What the form shows of a key that is there. */
interface Shown {
  readonly name: string
  readonly limit_reset: KeyForm["reset"] | null
  readonly rate_limit: { readonly requests: number; readonly interval_s: number } | null
  readonly allowed_models: ReadonlyArray<string> | null
  readonly allowed_providers: ReadonlyArray<string> | null
  readonly allowed_addresses: ReadonlyArray<string> | null
  readonly expires_at: string | null
  readonly tags: ReadonlyArray<string>
  readonly owner: string | null
  readonly exact: { readonly limit: string | null }
}

const lines = (list: ReadonlyArray<string> | null): string => (list ?? []).join("\n")

export const formOf = (key: Shown): KeyForm => ({
  name: key.name,
  limit: key.exact.limit ?? "",
  reset: key.limit_reset ?? "",
  requests: key.rate_limit === null ? "" : String(key.rate_limit.requests),
  seconds: key.rate_limit === null ? "60" : String(key.rate_limit.interval_s),
  models: lines(key.allowed_models),
  providers: lines(key.allowed_providers),
  addresses: lines(key.allowed_addresses),
  tags: lines(key.tags),
  owner: key.owner ?? "",
  expires: key.expires_at === null ? "" : toField(new Date(key.expires_at)),
})

export type KeyFormErrors = Readonly<Partial<Record<keyof KeyForm, string>>>

const wholeNumber = (text: string): number | null => (/^[1-9]\d{0,8}$/.test(text.trim()) ? Number(text) : null)

/** What is wrong with what was typed, before it is sent. The API says the rest. */
export const errorsOf = (form: KeyForm, now: Date): KeyFormErrors => {
  const errors: Partial<Record<keyof KeyForm, string>> = {}
  if (form.name.trim() === "") errors.name = "Give it a name: it stands in lists and in the log."
  if (form.limit.trim() !== "" && !/^\d+(\.\d+)?$/.test(form.limit.trim())) {
    errors.limit = "An amount in USD, such as 12.50, or nothing for no limit."
  }
  if (form.limit.trim() === "" && form.reset !== "") errors.reset = "There is no limit that could begin anew."
  if (form.requests.trim() !== "") {
    if (wholeNumber(form.requests) === null) errors.requests = "A whole number from 1 on, or nothing for any number."
    else if (wholeNumber(form.seconds) === null) errors.seconds = "A whole number of seconds from 1 on."
  }
  if (form.expires !== "") {
    const at = fromField(form.expires)
    if (at === null) errors.expires = "A day and a time, or nothing for never."
    else if (at <= now) errors.expires = "It has to be in the future."
  }
  const tags = listOf(form.tags)
  if (tags.length > 16) errors.tags = "At most 16 tags."
  else if (tags.some((tag) => tag.length > 64)) errors.tags = "A tag has at most 64 characters."
  return errors
}

/** `null` means none. A limit goes as a number, since the API takes one; the gateway rounds it to the nearest picodollar. */
export const bodyOf = (form: KeyForm): Readonly<Record<string, unknown>> => {
  const some = (text: string) => (listOf(text).length === 0 ? null : listOf(text))
  const requests = wholeNumber(form.requests)
  const expires = form.expires === "" ? null : fromField(form.expires)
  return {
    name: form.name.trim(),
    limit: form.limit.trim() === "" ? null : Number(form.limit),
    limit_reset: form.reset === "" ? null : form.reset,
    rate_limit: requests === null ? null : { requests, interval_s: wholeNumber(form.seconds) ?? 60 },
    allowed_models: some(form.models),
    allowed_providers: some(form.providers),
    allowed_addresses: some(form.addresses),
    tags: listOf(form.tags),
    owner: form.owner.trim() === "" ? null : form.owner.trim(),
    expires_at: expires === null ? null : expires.toISOString(),
  }
}

/** The members of `after` that differ from those of `before`. */
export const changesBetween = (
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(after).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name])),
  )
