/**
 * What hosts' error codes and messages mean: one table for answers with any status, and for errors within an answer
 * that began well. Vendors report a used-up account or a retired model with statuses that suggest the request is
 * wrong. From the vendors' error pages, their SDKs, and bodies that users quote (2025 and 2026). Pure.
 */
import type { HostReason } from "../../domain/failures/HostReason.ts"
import { isJsonObject } from "../../domain/json/json.ts"

type Table<Reason extends HostReason> = ReadonlyArray<readonly [part: RegExp, reason: Reason]>

/** Codes whose meaning does not depend on the status: they are about the account or the model. */
const sureCodes: Table<"account" | "not-found"> = [
  // OpenAI and compatible APIs: insufficient_quota, billing_hard_limit_reached (type billing_limit_user_error),
  // billing_not_active, account_deactivated. Moonshot: exceeded_current_quota_error. DeepSeek, MiniMax:
  // insufficient_balance. Novita: NOT_ENOUGH_BALANCE.
  [/insufficient_?(?:account_?)?(?:quota|balance|credits?|funds)|not_enough_(?:balance|credits?)/, "account"],
  [/exceeded_current_quota|credits?_exhausted|spend(?:ing)?_(?:cap|limit)|budget_exceeded/, "account"],
  [/billing|payment|arrear/, "account"],
  // Groq: organization_restricted, blocked_api_access. Anthropic: authentication_error. Google: API_KEY_INVALID,
  // CONSUMER_SUSPENDED.
  [
    /(?:account|consumer|organi[sz]ation|project|workspace)_(?:deactivat|disabl|restrict|suspend|terminat|inactiv)/,
    "account",
  ],
  [/blocked_api_access|authentication|unauthenticated|unauthori[sz]ed|api_?key/, "account"],
  // Groq: model_decommissioned, model_not_active. Together: model_not_available. Azure: DeploymentNotFound. Mistral:
  // invalid_model.
  [
    /(?:model|deployment)_?(?:is_|does_|was_|has_been_)?(?:not_?(?:found|available|exist|active|supported|deployed)|decommissioned|deprecated|retired|removed)/,
    "not-found",
  ],
  [/(?:unknown|invalid|unsupported|no_such|nonexistent)_model(?:_name|_error)?$/, "not-found"],
]

/** Codes that decide when there is no status. */
const otherCodes: Table<HostReason> = [
  [/rate_limit|ratelimit|too_many_requests|resource_exhausted|throttling/, "rate-limited"],
  [/permission|forbidden/, "forbidden"],
  [/not_found/, "not-found"],
  [/timeout|deadline_exceeded/, "timeout"],
  [/overloaded|unavailable|server_error|internal/, "overloaded"],
  [/context_length|context_size|context_window|prompt_tokens|too_large|tokens_limit|out_of_range/, "request"],
  [/content_filter|content_policy|data_inspection|responsible_ai|tool_use_failed|bad_request|invalid/, "request"],
]

/**
 * Codes that say only that something is wrong, or that are sentences themselves (xAI's), so that the message beside
 * them may say what.
 */
const sayNothing =
  /^(?:\d+|bad_?request(?:_?error)?|client_error|error|failed_precondition|forbidden|invalid(?:_request|_argument|_parameter|_request_error)?|permission(?:_error|_denied)?|rate_limit(?:_error|_exceeded)|resource_exhausted|upstream_error|validation(?:_error|_exception)?)$/

const subject = String.raw`(?:your |this |the )?(?:\S+ )?(?:account|organi[sz]ation|workspace|project|team|subscription|api key)`
const gone = "(?:deactivated|disabled|suspended|restricted|blocked|terminated|locked|not active|in arrears)"

/**
 * How vendors' messages about the account begin. A message about the request may quote anything from it, so only the
 * beginning counts, and only if the code is not more specific.
 */
const accountSentences: ReadonlyArray<RegExp> = [
  // Anthropic, 400 invalid_request_error. The first is a spend limit of its console.
  /^you have reached your (?:specified |monthly )?(?:workspace )?(?:api )?(?:usage|spend(?:ing)?) limits?\b/,
  /^your credit balance is too low\b/,
  // Anthropic ("This organization has been disabled."), Groq ("Organization has been restricted."), Moonshot ("Your
  // account org-… is suspended, …"), Fireworks ("Account … is suspended, …"), OpenAI ("Your account is not active,
  // …").
  new RegExp(
    `^${subject}(?: associated with this (?:api )?key| [^\\s.,]+)?(?: <[^>]*>){0,2} (?:has been|have been|was|is)(?: currently)? ${gone}\\b`,
  ),
  // OpenAI, 429 and 400.
  /^you exceeded your current quota, please check your plan and billing\b/,
  /^billing hard limit has been reached\b/,
  // DeepSeek, MiniMax, Z.AI, SiliconFlow, OpenRouter, Together.
  /^(?:error: )?insufficient (?:account )?(?:balance|credits?|funds|quota)(?:$|[.,:;!]| or | to | on | for your)/,
  /^(?:sorry, )?(?:your |the )?account balance is (?:insufficient|not enough|too low)\b/,
  /^credit limit exceeded, please navigate to\b/,
  // xAI: "Your team … has either used all available credits or reached its monthly spending limit."
  /^your (?:newly created )?team \S+ (?:has either used all available credits|doesn't have any credits)/,
  // Google: "Your prepayment credits are depleted.", "Your project has exceeded its monthly spending cap."
  /^your (?:prepay\w* credits|project has exceeded its (?:monthly )?spending cap)\b/,
  /^this api method requires billing to be enabled\b/,
  // Alibaba, 400 Arrearage.
  /^access denied, please make sure your account is in good standing\b/,
  // xAI, 400 and Google, 400 INVALID_ARGUMENT.
  /^(?:incorrect|invalid) api key(?: provided)?\b/,
  /^api key (?:not valid|expired|not found)\b/,
]

/**
 * How vendors' messages about a model that they do not serve begin. The gateway chose the model name, not the client.
 */
const modelSentences: ReadonlyArray<RegExp> = [
  // DeepSeek, 400 invalid_request_error.
  /^model not exist\b/,
  // Groq, OpenAI, xAI.
  /^the model [`'"]?[^\s`'"]+[`'"]? (?:has been (?:decommissioned|deprecated|retired)|does not exist|is not available|is no longer (?:available|supported))\b/,
]

/** Statuses with which vendors report a model that they do not serve. */
const ofModels: ReadonlySet<number | undefined> = new Set([undefined, 400, 403, 404, 410, 422])

/**
 * The reason that an error's own words prove, whatever its status: the account, or the model; `undefined`: the status
 * decides. The words of a 5xx answer prove nothing. `status`: `undefined` if the error has none.
 */
export const sureReason = (status: number | undefined, error: unknown): HostReason | undefined => {
  if (status !== undefined && (status < 400 || status >= 500)) return undefined
  const reason = byCode(error) ?? bySentence(error)
  return reason === "not-found" && !ofModels.has(status) ? undefined : reason
}

/** Of a code that is a sentence only the beginning counts, as of any other: it may quote what is in the request. */
const isSentence = (word: string): boolean => /\s/.test(word)

const byCode = (error: unknown): HostReason | undefined =>
  inTable(
    sureCodes,
    wordsOf(error).filter((word) => !isSentence(word)),
  )

const bySentence = (error: unknown): HostReason | undefined => {
  const words = wordsOf(error)
  if (!words.every((code) => sayNothing.test(spelt(code)) || isSentence(code))) return undefined
  const message = messageOf(error)
  const said = [...words.filter(isSentence), ...(message === undefined ? [] : [message])]
  const sentences = said.map((text) => text.trimStart().slice(0, longestBeginning).toLowerCase())
  if (sentences.some((sentence) => accountSentences.some((form) => form.test(sentence)))) return "account"
  return sentences.some((sentence) => modelSentences.some((form) => form.test(sentence))) ? "not-found" : undefined
}

/** Characters of a message that are examined. */
const longestBeginning = 300

/**
 * The reason that an error's codes give where it has no status; a text alone counts as its code. `undefined`: no
 * known code.
 */
export const reasonOfCodes = (error: unknown): HostReason | undefined =>
  inTable(otherCodes, typeof error === "string" ? [error] : wordsOf(error))

const inTable = <Reason extends HostReason>(table: Table<Reason>, words: ReadonlyArray<string>): Reason | undefined => {
  for (const word of words) {
    const code = spelt(word)
    const known = table.find(([part]) => part.test(code))
    if (known !== undefined) return known[1]
  }
  return undefined
}

/** Normalizes the spelling of codes: `InsufficientBalance` and `insufficient-balance` become `insufficient_balance`. */
const spelt = (word: string): string =>
  word
    .slice(0, longestBeginning)
    .replace(/([a-z])([A-Z])/g, "$1_$2")
    .replace(/[\s-]+/g, "_")
    .toLowerCase()

/** Names of the error, the most specific first. A text without spaces is the name itself. */
export const wordsOf = (error: unknown): ReadonlyArray<string> => {
  if (typeof error === "string") return /\s/.test(error) || error === "" ? [] : [error]
  if (!isJsonObject(error)) return []
  const { code, reason, type, status, error_type: errorType } = error
  return [code, reason, type, status, errorType].filter((word) => typeof word === "string" && word !== "").map(String)
}

/** The host's message; `undefined`: there is none, or it is a page of HTML, which explains nothing about a request. */
export const messageOf = (error: unknown): string | undefined => {
  if (typeof error === "string") return isPage(error) ? undefined : error
  if (!isJsonObject(error)) return undefined
  for (const name of messageMembers) {
    const said = error[name]
    if (typeof said === "string") return said
  }
  const { detail } = error
  if (isJsonObject(detail)) return messageOf(detail["error"]) ?? messageOf(detail)
  const first: unknown = Array.isArray(detail) ? detail[0] : undefined
  return isJsonObject(first) && typeof first["msg"] === "string" ? first["msg"] : undefined
}

const messageMembers = ["message", "detail", "Message", "msg", "error_message", "error_description", "title"]

/** Whether a text is HTML or XML, so that it comes from a proxy or a web server and not from a model API. */
export const isPage = (text: string): boolean => text.trimStart().startsWith("<")
