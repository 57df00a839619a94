/** Answers that are lists, as JSON or, where the caller accepts it, as CSV. */
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import { isJsonObject, type JsonObject } from "../../domain/json/json.ts"
import { formatUsd, type Picodollars } from "../../domain/price/money.ts"
import { type Cell, csv, csvType } from "../csv.ts"

// The answer depends on what the caller accepts.
const headers = { vary: "accept" }

export const jsonAnswer = <A>(body: A) => HttpServerResponse.unsafeJson(body, { headers })

export interface Row<Name extends string> {
  readonly item: { readonly [N in Name]?: string | number | boolean | null }
  /** Members of it that are money: exact in CSV, where JSON has the nearest number. */
  readonly amounts: { readonly [N in Name]?: Picodollars }
}

/** `names`: of the columns, in their order. `more`: further headers. */
export const csvAnswer = <Name extends string>(
  names: ReadonlyArray<Name>,
  rows: ReadonlyArray<Row<Name>>,
  more: Readonly<Record<string, string>> = {},
) => {
  const cell = ({ item, amounts }: Row<Name>, name: Name): Cell => {
    const money = amounts[name]
    if (money !== undefined) return { amount: formatUsd(money) }
    const value = item[name] ?? ""
    return typeof value === "number" ? { amount: value } : String(value)
  }
  const text = csv(
    names,
    rows.map((row) => names.map((name) => cell(row, name))),
  )
  return HttpServerResponse.text(text, {
    contentType: `${csvType}; charset=utf-8; header=present`,
    headers: { ...headers, ...more },
  })
}

/** Adds to an operation's description that it also answers as CSV. HttpApi describes one content type for a status. */
export const alsoCsv = (operation: JsonObject): JsonObject => {
  const { responses } = operation
  const ok = isJsonObject(responses) ? responses["200"] : undefined
  if (!isJsonObject(responses) || !isJsonObject(ok) || !isJsonObject(ok["content"])) return operation
  const table = { schema: { type: "string", description: "The same with a line of names first. Amounts are exact." } }
  return {
    ...operation,
    responses: { ...responses, "200": { ...ok, content: { ...ok["content"], [csvType]: table } } },
  }
}
