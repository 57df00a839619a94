/** The table of chat parameters by protocol and by client form. Pure; each user derives what it needs once, when it is loaded. */
import type { Check } from "../json/checks.ts"
import type { JsonObject } from "../json/json.ts"
import type { ChatPayload } from "./chat.ts"
import {
  type ChatParameter,
  chatParameterRows,
  type Destination,
  type Elsewhere,
  type Place,
  translated,
} from "./chatParameters.ts"

/** The protocols with words of their own. */
type Protocol = "messages" | "responses" | "generateContent"

/** A parameter with a member of its own in a protocol. */
export interface PlacedParameter extends Place {
  readonly name: string
  readonly check: Check | undefined
}

const placeOf = (destination: Destination): Place | undefined => {
  if (typeof destination === "string") return { at: destination }
  return destination === null || "translated" in destination ? undefined : destination
}

/** In the order of the table. */
export const placedIn = (protocol: Protocol): ReadonlyArray<PlacedParameter> =>
  chatParameterRows.flatMap(([name, row]) => {
    const place = placeOf(row[protocol])
    return place === undefined ? [] : [{ name, check: row.check, ...place }]
  })

/** Names that are parameters in the protocol alone: a caller's own member of such a name would take the place of one. */
export const renamesIn = (protocol: Protocol): ReadonlyArray<string> =>
  placedIn(protocol).flatMap(({ name, at }) => (at === name ? [] : [at]))

/** Parameters that functions of the protocol write. */
export const translatedIn = (protocol: Protocol): ReadonlyArray<string> =>
  namesWhere((row) => row[protocol] === translated)

/** Parameters that the protocol has no member for. */
export const lackingIn = (protocol: Protocol): ReadonlyArray<string> => namesWhere((row) => row[protocol] === null)

/** Names of parameters by what their rows say. */
export const namesWhere = (holds: (row: ChatParameter) => boolean): ReadonlyArray<string> =>
  chatParameterRows.filter(([, row]) => holds(row)).map(([name]) => name)

/** Adds to what a host is sent the parameters, in their order. */
export const addParameters = (
  placed: ReadonlyArray<PlacedParameter>,
  payload: ChatPayload,
  members: Record<string, unknown>,
): void => {
  for (const parameter of placed) addParameter(parameter, payload, members)
}

const addParameter = (
  { name, at, as, usual }: PlacedParameter,
  payload: ChatPayload,
  members: Record<string, unknown>,
): void => {
  const value = as === undefined ? payload[name] : as(payload)
  if (value != null && value !== usual) members[at] = value
}

export const byName = (placed: ReadonlyArray<PlacedParameter>): ReadonlyMap<string, PlacedParameter> =>
  new Map(placed.map((parameter) => [parameter.name, parameter]))

/** Adds a member of the payload to what a host is sent: a parameter where it belongs, any other one as it came. */
export const addMember = (
  placed: ReadonlyMap<string, PlacedParameter>,
  name: string,
  payload: ChatPayload,
  members: Record<string, unknown>,
): void => {
  const parameter = placed.get(name)
  if (parameter === undefined) members[name] = payload[name]
  else addParameter(parameter, payload, members)
}

/** Whether the caller wrote a parameter that is not in what the host is sent. */
export const isLost = ({ name, at, usual }: PlacedParameter, payload: ChatPayload, members: JsonObject): boolean =>
  payload[name] != null && payload[name] !== usual && members[at] === undefined

type Checks = Readonly<Record<string, Check>>

const checksWhere = (holds: (row: ChatParameter) => boolean): Checks =>
  Object.fromEntries(
    chatParameterRows.flatMap(([name, row]) => (row.check !== undefined && holds(row) ? [[name, row.check]] : [])),
  )

/** Checks of the parameters that a host may or may not support. */
export const parameterChecks: Checks = checksWhere(({ support }) => support !== undefined)

/** Checks of the others. */
export const otherChecks: Checks = checksWhere(({ support }) => support === undefined)

type Form = keyof NonNullable<ChatParameter["elsewhere"]>

/** What a form calls the parameters that it has elsewhere: what its callers are told that was dropped. */
export const ownNamesIn = (form: Form): ReadonlyArray<readonly [canonical: string, own: string]> =>
  elsewhereIn(form).map(([name, place]) => [name, typeof place === "string" ? place : place.name])

/** What callers of a form are to use in place of the names that it refuses. */
export const insteadIn = (form: Form): ReadonlyArray<readonly [refused: string, instead: string]> =>
  elsewhereIn(form).map(([name, place]) => [name, typeof place === "string" ? place : place.instead])

const elsewhereIn = (form: Form): ReadonlyArray<readonly [name: string, Elsewhere]> =>
  chatParameterRows.flatMap(([name, { elsewhere }]) => {
    const place = elsewhere?.[form]
    return place === undefined ? [] : [[name, place] as const]
  })
