/**
 * What samples a protocol of a plugin's own needs. A check can only find what a sample shows: without two calls in one stream
 * nobody sees that both have the same index. The gateway's own protocols are tested with the gateway.
 */
import { HostFailed } from "../domain/failures/Failure.ts"
import { parseUsage } from "../domain/price/Usage.ts"
import { isOurs } from "../formats/ownProtocols.ts"
import { type ChoiceOutcome, outcomeOf } from "./answers/Outcome.ts"
import { streamOutcome } from "./answers/streams.ts"
import { type Check, must } from "./Check.ts"
import type { Lack } from "./Expected.ts"
import { contextOf, head } from "./samples.ts"
import { answerBody, isLacking, load, type ProtocolSubject } from "./subject.ts"

/** What a sample has to show, and what to declare where the vendor has no such thing. */
interface Shown {
  readonly what: string
  readonly member: "streams" | "answers" | "errors"
  readonly unless?: ReadonlyArray<Lack>
  readonly isShown: (seen: Seen) => boolean
}

interface Seen {
  readonly streams: ReadonlyArray<ChoiceOutcome>
  readonly answers: ReadonlyArray<ChoiceOutcome>
  readonly usages: ReadonlyArray<NonNullable<ReturnType<typeof parseUsage>>>
  readonly rateLimits: number
}

/** Calls that share an index count each: another check says what is wrong with them. */
const callsIn = ({ calls }: ChoiceOutcome): number => calls.reduce((sum, call) => sum + (call?.ids.length ?? 0), 0)

const wanted: ReadonlyArray<Shown> = [
  { what: "text in a stream", member: "streams", isShown: ({ streams }) => streams.some(({ text }) => text !== "") },
  {
    what: "two tool calls in one stream",
    member: "streams",
    unless: ["tools", "parallel tools"],
    isShown: ({ streams }) => streams.some((choice) => callsIn(choice) > 1),
  },
  {
    what: "a tool call in a whole answer",
    member: "answers",
    unless: ["tools"],
    isShown: ({ answers }) => answers.some((choice) => callsIn(choice) > 0),
  },
  {
    what: "reasoning",
    member: "streams",
    unless: ["reasoning"],
    isShown: ({ streams }) => streams.some(({ reasoning, details }) => reasoning !== "" || details.length > 0),
  },
  {
    what: "tokens that were read from a cache",
    member: "answers",
    unless: ["cache", "usage"],
    isShown: ({ usages }) => usages.some(({ cachedTokens }) => cachedTokens > 0),
  },
  {
    what: "a rate limit with the time to wait",
    member: "errors",
    unless: ["waits"],
    isShown: ({ rateLimits }) => rateLimits > 0,
  },
]

/** The end of the name of the check that only samples of the plugin's author can pass. */
export const ofSamples = "samples show what a protocol can get wrong"

export const coverageChecks = (given: ProtocolSubject): ReadonlyArray<Check> =>
  isOurs(given.protocol())
    ? []
    : [
        { name: `${given.name}: ${ofSamples}`, run: () => isCovered(given) },
        { name: `${given.name}: tokens that a cache gave have a price`, run: () => pricesCache(given) },
      ]

/** Without a price of their own they would cost as much as others. */
const pricesCache = async (given: ProtocolSubject): Promise<void> => {
  const provider = load(given.subject)
  const { usages } = seenIn(given, await answerBody(given))
  const hosts = ((await provider.models?.()) ?? []).flatMap(({ hosts: each = [] }) => each)
  if (isLacking(given.subject, "cache price") || !usages.some(({ cachedTokens }) => cachedTokens > 0)) return
  const baseUrl = given.subject.plugin.baseUrl ?? "https://host.test/v1"
  const isPriced = hosts.some(
    ({ pricing, model }) =>
      pricing == null ||
      pricing.input_cache_read != null ||
      provider.cacheMultipliers?.({ model: model ?? "", baseUrl }),
  )
  must(
    hosts.length === 0 || isPriced,
    "A sample has tokens that were read from a cache, and no model of the plugin has a price for them: " +
      'they are charged like others. Where that is so: `lacks: ["cache price"]`',
    "ListedModel: pricing.input_cache_read, Provider.cacheMultipliers",
  )
}

const isCovered = async (given: ProtocolSubject): Promise<void> => {
  const seen = seenIn(given, await answerBody(given))
  const missing = wanted
    .filter(({ unless = [] }) => !unless.some((lack) => isLacking(given.subject, lack)))
    .filter(({ isShown }) => !isShown(seen))
    .map(({ what, member, unless = [] }) => {
      const lack = unless[unless.length > 1 && unless[0] === "tools" ? 1 : 0]
      return `\`${member}\`: ${what}${lack === undefined ? "" : ` (or \`lacks: ["${lack}"]\`)`}`
    })
  const uncounted = uncountedIn(given)
  must(
    uncounted.length === 0,
    `These samples do not say what they are charged: ${uncounted.join(", ")}. Write \`expects.counted\` ` +
      '(null where the vendor does not count there), or `lacks: ["usage"]`',
    "Expected.counted",
  )
  must(missing.length === 0, `No sample shows these: ${missing.join("; ")}`, "ProviderSubject")
}

/** Samples of answers whose author does not say what the usage is: it decides what is charged. */
const uncountedIn = ({ streams, answers, subject }: ProtocolSubject): ReadonlyArray<string> =>
  isLacking(subject, "usage")
    ? []
    : [...streams, ...answers]
        .filter(({ expects }) => expects.failure === undefined && expects.counted === undefined)
        .map(({ name }) => name)

const seenIn = ({ protocol, streams, answers, subject }: ProtocolSubject, given: unknown): Seen => {
  const read = streams.map((sample) => streamOutcome(protocol(), sample))
  const whole = [...answers.map(({ body }) => body), given].flatMap((body) => {
    const answer = protocol().decode(head, body, contextOf(false))
    return answer instanceof HostFailed ? [] : [outcomeOf(answer)]
  })
  return {
    streams: read.flatMap(({ choices }) => choices[0] ?? []),
    answers: whole.flatMap(({ choices }) => choices[0] ?? []),
    usages: [...read, ...whole].flatMap(({ usage }) => parseUsage(usage) ?? []),
    rateLimits: (subject.errors ?? []).filter(({ expects }) => expects.reason === "rate-limited").length,
  }
}
