/**
 * Whose encrypted reasoning it is. OpenAI binds it to an organization and Azure to a resource; any other account
 * refuses the request that has it. So where a model can be called with several accounts, the account's name is appended
 * to what the caller gets, and removed from what the same account gets back. Callers of every form keep the name with
 * the data, and the gateway keeps nothing. Pure. See docs/decisions/0107-whose-reasoning-it-is.md.
 */
import { isJsonObject, type JsonObject } from "../../domain/json/json.ts"
import type { Message, ReasoningDetail } from "../../domain/request/chat.ts"
import type { ChatRequest } from "../../domain/request/request.ts"

/** No base64 has a tilde. */
const begin = "~headgate~"
const end = "~"

const nameOf = (account: string): string => begin + account + end

/**
 * The data as the account made it; "": another account did. Data without a name is taken for its own. A caller may have
 * joined the fragments of a stream, each with the name.
 */
const readBy = (account: string, data: string): string => {
  if (!data.endsWith(end)) return data
  const own = data.replaceAll(nameOf(account), "")
  return own.includes(begin) ? "" : own
}

/** Whether a piece can be read by one account alone. Those of Claude and Gemini can be read wherever the model is. */
const isBound = ({ type, format, data }: JsonObject): boolean =>
  type === "reasoning.encrypted" && typeof format === "string" && format.endsWith("responses-v1") && isText(data)

/** The same as an item of the Responses form. */
const isBoundItem = (item: unknown): item is JsonObject =>
  isJsonObject(item) && item["type"] === "reasoning" && isText(item["encrypted_content"])

const isText = (data: unknown): boolean => typeof data === "string" && data !== ""

// --- to the caller

/** Returns the same pieces where none is bound to its account. */
export const namedDetails = (
  details: ReadonlyArray<ReasoningDetail>,
  account: string,
): ReadonlyArray<ReasoningDetail> =>
  details.some(isBound)
    ? details.map((detail) => (isBound(detail) ? { ...detail, data: `${detail.data}${nameOf(account)}` } : detail))
    : details

/** An answer or an event in the host's own words. Returns the same object where it has no such item. */
export const namedNative = (body: JsonObject, account: string): JsonObject => {
  const { item, output, response } = body
  if (isBoundItem(item)) return { ...body, item: namedItem(item, account) }
  if (isJsonObject(response)) {
    const named = namedNative(response, account)
    return named === response ? body : { ...body, response: named }
  }
  return Array.isArray(output) && output.some(isBoundItem)
    ? { ...body, output: output.map((one: unknown) => (isBoundItem(one) ? namedItem(one, account) : one)) }
    : body
}

const namedItem = (item: JsonObject, account: string): JsonObject => ({
  ...item,
  encrypted_content: `${item["encrypted_content"]}${nameOf(account)}`,
})

// --- to a host

/** Whether a host that is called with the account is sent such reasoning. */
export const sendsEncrypted = ({ payload }: ChatRequest, account: string): boolean =>
  payload.messages.some((message) =>
    detailsOf(message).some((detail) => isBound(detail) && readBy(account, detail.data ?? "") !== ""),
  )

/**
 * The request with the encrypted reasoning that the account can read. `account`: "" where the host has refused what it
 * was sent of it. Returns the same request where nothing changes. A piece that is left out stays in its place without
 * its data, since the list of the parts counts it.
 */
export const withReadable = (request: ChatRequest, account: string): ChatRequest => {
  const { payload, native } = request
  if (!payload.messages.some(hasDetails)) return request
  const messages = changed(payload.messages, (message) => messageFor(message, account))
  if (messages === payload.messages) return request
  const input: unknown = native?.body["input"]
  return {
    ...request,
    payload: { ...payload, messages },
    ...(native === undefined || !Array.isArray(input)
      ? {}
      : {
          native: { ...native, body: { ...native.body, input: input.map((item: unknown) => itemFor(item, account)) } },
        }),
  }
}

/** Whether `withReadable` has taken the data of a piece. */
export const isEmptied = ({ type, data }: JsonObject): boolean => type === "reasoning.encrypted" && data === ""

const none: ReadonlyArray<ReasoningDetail> = []

const detailsOf = (message: Message): ReadonlyArray<ReasoningDetail> =>
  message.role === "assistant" ? (message.reasoning_details ?? none) : none

const hasDetails = (message: Message): boolean => detailsOf(message).length > 0

const messageFor = (message: Message, account: string): Message => {
  const details = detailsOf(message)
  const left = changed(details, (detail) => detailFor(detail, account))
  return left === details || message.role !== "assistant" ? message : { ...message, reasoning_details: left }
}

const detailFor = (detail: ReasoningDetail, account: string): ReasoningDetail => {
  if (!isBound(detail)) return detail
  const data = dataFor(detail.data, account)
  return data === detail.data ? detail : { ...detail, data }
}

/** Without its encrypted content where the account cannot read it. */
const itemFor = (item: unknown, account: string): unknown => {
  if (!isBoundItem(item)) return item
  const { encrypted_content: given, ...rest }: JsonObject = item
  const data = dataFor(given, account)
  return data === "" ? rest : { ...rest, encrypted_content: data }
}

const dataFor = (data: unknown, account: string): string =>
  account === "" || typeof data !== "string" ? "" : readBy(account, data)

/** Returns the same list where each item stays the same. */
const changed = <A>(list: ReadonlyArray<A>, change: (item: A) => A): ReadonlyArray<A> => {
  let copy: Array<A> | undefined
  for (const [at, item] of list.entries()) {
    const next = change(item)
    if (next === item) continue
    copy ??= [...list]
    copy[at] = next
  }
  return copy ?? list
}
