/** Everything that can be wrong with a JSON value, or with the order of events. */
import { isJsonObject, type JsonObject } from "../../../src/domain/json/json.ts"
import { randomSequence } from "../../../src/domain/structures/randomSequence.ts"

export interface Changed<A> {
  readonly name: string
  readonly value: A
}

const values: ReadonlyArray<unknown> = [null, "x", 5, [], {}, [null]]

/** A place in a value: the names and indexes that lead to it. */
export type Place = ReadonlyArray<string | number>

const placesIn = (value: unknown, at: Place = []): ReadonlyArray<Place> => {
  const own = at.length === 0 ? [] : [at]
  if (Array.isArray(value)) return [...own, ...value.flatMap((one, index) => placesIn(one, [...at, index]))]
  if (!isJsonObject(value)) return own
  return [...own, ...Object.entries(value).flatMap(([name, one]) => placesIn(one, [...at, name]))]
}

const replaced = (value: unknown, [first, ...rest]: Place, by: unknown): unknown => {
  if (first === undefined) return by
  if (Array.isArray(value)) return value.map((one, at) => (at === first ? replaced(one, rest, by) : one))
  return isJsonObject(value) ? { ...value, [first]: replaced(value[first], rest, by) } : value
}

const without = (value: unknown, [first, ...rest]: Place): unknown => {
  if (Array.isArray(value))
    return rest.length === 0
      ? value.filter((_, at) => at !== first)
      : value.map((one, at) => (at === first ? without(one, rest) : one))
  if (!isJsonObject(value) || first === undefined) return value
  const { [first]: inside, ...others } = value
  return rest.length === 0 ? others : { ...value, [first]: without(inside, rest) }
}

/** A choice among several. */
export type Pick = <A>(all: ReadonlyArray<A>) => A

const damagedAt = (whole: JsonObject, place: Place, by: unknown): Changed<JsonObject> => ({
  name: `${place.join(".")} = ${JSON.stringify(by)}`,
  // A place below the root, so that the root stays an object.
  value: replaced(whole, place, by) as JsonObject,
})

/** One member of a value replaced. */
export const oneDamaged = (whole: JsonObject, pick: Pick): Changed<JsonObject> => {
  const places = placesIn(whole)
  return places.length === 0 ? { name: "nothing", value: whole } : damagedAt(whole, pick(places), pick(values))
}

export interface ChangedAt extends Changed<JsonObject> {
  readonly place: Place
  /** What stands there now; `undefined`: nothing. */
  readonly by: unknown
}

/** Each member of a value replaced by each other kind of value, and removed. */
export const damagedOrRemoved = (whole: JsonObject): ReadonlyArray<ChangedAt> =>
  placesIn(whole).flatMap((place) => [
    ...values.map((by) => ({ ...damagedAt(whole, place, by), place, by })),
    // As above.
    { name: `without ${place.join(".")}`, value: without(whole, place) as JsonObject, place, by: undefined },
  ])

/** Each member of a value replaced by each other kind of value. */
export const damaged = (whole: JsonObject): ReadonlyArray<Changed<JsonObject>> =>
  placesIn(whole).flatMap((place) => values.map((by) => damagedAt(whole, place, by)))

type Events = ReadonlyArray<JsonObject>

/** Each event left out, doubled, moved to each place, and with each of its members damaged. */
export const disordered = (events: Events): ReadonlyArray<Changed<Events>> => {
  const without = (at: number) => events.filter((_, index) => index !== at)
  return events.flatMap((event, at) => [
    { name: `without event ${at}`, value: without(at) },
    { name: `event ${at} twice`, value: [...events.slice(0, at + 1), ...events.slice(at)] },
    ...without(at).flatMap((_, to) =>
      to === at ? [] : [{ name: `event ${at} at ${to}`, value: without(at).toSpliced(to, 0, event) }],
    ),
    ...damaged(event).map(({ name, value }) => ({ name: `event ${at}: ${name}`, value: events.with(at, value) })),
  ])
}

/** One event left out, doubled, moved, or with a member damaged. */
export const oneDisordered = (events: Events, pick: Pick): Changed<Events> => {
  const at = pick([...events.keys()])
  const event = events[at] ?? {}
  const without = events.filter((_, index) => index !== at)
  switch (pick(["left out", "doubled", "moved", "damaged"])) {
    case "left out":
      return without.length === 0 ? { name: "nothing", value: events } : { name: `without event ${at}`, value: without }
    case "doubled":
      return { name: `event ${at} twice`, value: events.toSpliced(at, 0, event) }
    case "moved": {
      const to = pick([...events.keys()])
      return { name: `event ${at} at ${to}`, value: without.toSpliced(to, 0, event) }
    }
    default: {
      const { name, value } = oneDamaged(event, pick)
      return { name: `event ${at}: ${name}`, value: events.with(at, value) }
    }
  }
}

/** A repeatable choice among several. */
export const picker = (seed: number): Pick => {
  const next = randomSequence(seed)
  return (all) => {
    const one = all[Math.floor(next() * all.length)]
    if (one === undefined) throw new Error("nothing to choose from")
    return one
  }
}

/** The first ones, and how many there are. */
export const shown = (faults: ReadonlyArray<string>): ReadonlyArray<string> =>
  faults.length < 20 ? faults : [...faults.slice(0, 20), `${faults.length} in all`]
