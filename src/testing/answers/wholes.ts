/** Checks of recorded whole answers, and of what a later turn sends back of a model's reasoning. */
import * as Either from "effect/Either"
import { HostFailed } from "../../domain/failures/Failure.ts"
import type { ChatPayload } from "../../domain/request/chat.ts"
import { isOurs } from "../../wire/ownProtocols.ts"
import { attempt, type Check, must, shown } from "../Check.ts"
import { sentIn } from "../requests/Sent.ts"
import { chatRequest, contextOf, head, host, marks, tools } from "../samples.ts"
import { answerBody, isLacking, type NamedAnswer, type ProtocolSubject } from "../subject.ts"
import { type ChoiceOutcome, callsWell, comesTo, failsAs, outcomeOf, signaturesIn } from "./Outcome.ts"
import { streamOutcome } from "./streams.ts"
import { isBilledRight } from "./usage.ts"

const contract = "Protocol.decode"

export const wholeChecks = (given: ProtocolSubject): ReadonlyArray<Check> => [
  ...given.answers.map((sample) => ({
    name: `${given.name}: ${sample.name} comes to what is expected, and is counted`,
    run: () => isRead(given, sample),
  })),
  ...(isOurs(given.protocol()) || given.subject.answer === undefined
    ? []
    : [
        {
          name: `${given.name}: the given answer is read and counted as its host means it`,
          run: async () => isRead(given, { name: "the given answer", body: await answerBody(given), expects: {} }),
        },
      ]),
  ...(hasSamples(given) && !isLacking(given.subject, "reasoning in history")
    ? [
        {
          name: `${given.name}: encode() sends signed and encrypted reasoning back unchanged`,
          run: () => sendsReasoningBack(given),
        },
      ]
    : []),
]

const hasSamples = ({ answers, streams }: ProtocolSubject): boolean => answers.length + streams.length > 0

const decoded = ({ protocol }: ProtocolSubject, { name, body }: NamedAnswer) =>
  attempt(`decode() of ${name}`, contract, () => protocol().decode(head, body, contextOf(false)))

const isRead = (given: ProtocolSubject, sample: NamedAnswer): void => {
  const { name, body, expects } = sample
  const answer = decoded(given, sample)
  if (expects.failure !== undefined) {
    failsAs(answer instanceof HostFailed ? answer : undefined, expects.failure, { of: name })
    return
  }
  must(!(answer instanceof HostFailed), () => `${name} is read as a failure of the host (${shown(answer)})`, contract)
  const outcome = outcomeOf(answer)
  comesTo(outcome, expects, name)
  callsWell(outcome, expects, name)
  const counted = isLacking(given.subject, "usage") ? (expects.counted ?? null) : expects.counted
  isBilledRight(answer.usage, { counted, raw: [body], of: name })
}

/** The first choices of all samples that are answers. */
const choicesOf = (given: ProtocolSubject): ReadonlyArray<readonly [name: string, choice: ChoiceOutcome]> => {
  const wholes = given.answers.map((sample) => {
    const answer = decoded(given, sample)
    return [sample.name, answer instanceof HostFailed ? undefined : outcomeOf(answer).choices[0]] as const
  })
  const streams = given.streams.map(
    (sample) => [sample.name, streamOutcome(given.protocol(), sample).choices[0]] as const,
  )
  return [...wholes, ...streams].flatMap(([name, choice]) => (choice === undefined ? [] : [[name, choice] as const]))
}

const sendsReasoningBack = (given: ProtocolSubject): void => {
  for (const [name, { text, reasoning, details, calls }] of choicesOf(given)) {
    const signatures = signaturesIn(details)
    if (signatures.length === 0) continue
    const made = calls.flatMap((call) => call ?? []).map((call, at) => ({ ...call, id: call.ids[0] ?? `call_${at}` }))
    const payload: ChatPayload = {
      messages: [
        { role: "user", content: marks.question },
        {
          role: "assistant",
          content: text === "" ? null : text,
          ...(reasoning === "" ? {} : { reasoning }),
          reasoning_details: details,
          ...(made.length === 0
            ? {}
            : {
                tool_calls: made.map(({ id, name: called, arguments: written }) => ({
                  id,
                  type: "function",
                  function: { name: called, arguments: written },
                })),
              }),
        },
        ...made.map(({ id }) => ({ role: "tool", tool_call_id: id, content: marks.firstResult }) as const),
        { role: "user", content: marks.last },
      ],
      ...(isLacking(given.subject, "tools") ? {} : { tools }),
    }
    const encoded = attempt("encode()", "Protocol.encode", () =>
      given.protocol().encode(chatRequest(false, payload, { effort: "high" }), host),
    )
    must(
      Either.isRight(encoded),
      () => `encode() refuses the answer of ${name} in the next turn: ${shown(encoded)}`,
      "AssistantMessage",
    )
    const sent = sentIn(encoded.right)
    const lost = signatures.find((signature) => !sent.hasText(signature))
    must(
      lost === undefined,
      `encode() does not send the signature or data ${shown(lost)} of ${name} back in the next turn: ` +
        'the host may refuse the turn. Where it takes none, say so with `lacks: ["reasoning in history"]`',
      "AssistantMessage.reasoning_details",
    )
  }
}
