/**
 * Checks of what has to be told apart in an answer: its calls by their ids, and where a signature belongs. A sample is read
 * twice, since an id that a protocol makes has to be another one in each answer.
 */
import { HostFailed } from "../../domain/failures/Failure.ts"
import { isJsonObject } from "../../domain/json/json.ts"
import { isOurs } from "../../formats/ownProtocols.ts"
import { type Check, must, shown } from "../Check.ts"
import { saidWithin } from "../requests/Sent.ts"
import { contextOf, head } from "../samples.ts"
import type { ProtocolSubject } from "../subject.ts"
import { eventsOf } from "./frames.ts"
import { type CallOutcome, type Outcome, outcomeOf } from "./Outcome.ts"
import { streamOutcome } from "./streams.ts"

export const identityChecks = (given: ProtocolSubject): ReadonlyArray<Check> =>
  isOurs(given.protocol()) || given.answers.length + given.streams.length === 0
    ? []
    : [
        {
          name: `${given.name}: every call has an id of its own, the host's where it gives one`,
          run: () => idsOf(given),
        },
      ]

/** A sample: how it is read, and its JSON. */
export interface Read {
  readonly name: string
  readonly read: () => Outcome
  readonly raw: ReadonlyArray<unknown>
}

/** All samples that are answers. */
export const answersRead = (given: ProtocolSubject): ReadonlyArray<Read> => [
  ...given.answers
    .filter(({ expects }) => expects.failure === undefined)
    .map(({ name, body }) => ({ name, raw: [body], read: () => wholeOutcome(given, body) })),
  ...given.streams
    .filter(({ expects }) => expects.failure === undefined)
    .map((sample) => ({
      name: sample.name,
      raw: eventsOf(given.protocol(), sample).map(([, data]) => data),
      read: () => streamOutcome(given.protocol(), sample),
    })),
]

const wholeOutcome = ({ protocol }: ProtocolSubject, body: unknown): Outcome => {
  const answer = protocol().decode(head, body, contextOf(false))
  return answer instanceof HostFailed ? { choices: [], usage: undefined, failure: answer } : outcomeOf(answer)
}

export const callsOf = ({ choices }: Outcome): ReadonlyArray<CallOutcome> =>
  choices.flatMap((choice) => (choice?.calls ?? []).flatMap((call) => call ?? []))

/** Members that hold the id of a call. */
const idMember = /^(?:id|(?:tool_?)?(?:call|use)_?id)$/i

/** Ids that the host gives to calls of this name. */
export const idsGiven = (raw: ReadonlyArray<unknown>, name: string): ReadonlyArray<string> => {
  const names = (value: unknown): boolean => isJsonObject(value) && Object.values(value).includes(name)
  return saidWithin(raw)
    .objects.filter((object) => names(object) || Object.values(object).some(names))
    .flatMap((object) => [object, ...Object.values(object).filter(names).filter(isJsonObject)])
    .flatMap((object) => Object.entries(object))
    .flatMap(([member, id]) => (idMember.test(member) && typeof id === "string" && id !== "" ? [id] : []))
}

const idsOf = (given: ProtocolSubject): void => {
  for (const { name, read, raw } of answersRead(given)) {
    const [first, second] = [read(), read()].map((outcome) => callsOf(outcome))
    const ids = (first ?? []).flatMap((call) => call.ids)
    must(
      new Set(ids).size === ids.length,
      `${name} has several calls with the id ${shown(ids.find((id, at) => ids.indexOf(id) !== at))}: results go back by it. newCallId() makes one where the host gives none`,
      "ToolCall.id",
    )
    for (const [at, call] of (first ?? []).entries()) {
      const [id, again] = [call.ids[0], second?.[at]?.ids[0]]
      const hosts = idsGiven(raw, call.name)
      must(
        hosts.length === 0 || (id !== undefined && hosts.includes(id)),
        `${name} has a call whose id is ${shown(hosts[0])}, and it comes to ${shown(id)}: the host knows its own id only`,
        "ToolCall.id",
      )
      must(
        hosts.length > 0 || id !== again || saidWithin(raw).texts.has(String(id)),
        `${name} has a call without an id, and each answer gives it the id ${shown(id)}: two calls of one conversation have the same. newCallId() makes one`,
        "ToolCall.id",
      )
    }
  }
}
