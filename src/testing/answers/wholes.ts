/** Checks of recorded whole answers, and of what a later turn sends back of a model's reasoning. */
import * as Either from "effect/Either"
import { HostFailed } from "../../domain/failures/Failure.ts"
import type { JsonObject } from "../../domain/json/json.ts"
import type { ChatPayload } from "../../domain/request/chat.ts"
import { isOurs } from "../../formats/ownProtocols.ts"
import { attempt, type Check, must, shown } from "../Check.ts"
import { saidWithin, sentIn } from "../requests/Sent.ts"
import { chatRequest, contextOf, head, host, marks, tools } from "../samples.ts"
import { answerBody, isLacking, type NamedAnswer, type ProtocolSubject } from "../subject.ts"
import { answersRead } from "./identity.ts"
import { callsApart, callsWell, comesTo, failsAs, outcomeOf, signaturesIn } from "./Outcome.ts"
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
  callsApart(outcome, name)
  comesTo(outcome, expects, name)
  callsWell(outcome, expects, name)
  const counted = isLacking(given.subject, "usage") ? (expects.counted ?? null) : expects.counted
  isBilledRight(answer.usage, { counted, raw: [body], of: name })
}

/** Texts of members that are called a signature, or encrypted. */
const signaturesSaid = (raw: ReadonlyArray<unknown>): ReadonlyArray<string> =>
  saidWithin(raw)
    .objects.flatMap((object) => Object.entries(object))
    .flatMap(([name, value]) =>
      /signature|encrypted/i.test(name) && typeof value === "string" && value !== "" ? [value] : [],
    )

/**
 * Whether the object in which the signature stands has the name of a call, too; `undefined`: it stands nowhere, or in several
 * places.
 */
const isOfCall = (
  objects: ReadonlyArray<JsonObject>,
  signature: string,
  names: ReadonlyArray<string>,
): boolean | undefined => {
  const around = objects
    .filter((object) => Object.values(object).includes(signature))
    .map((each) => JSON.stringify(each))
  const found = new Set(around.map((text) => names.some((name) => text.includes(JSON.stringify(name)))))
  return found.size === 1 ? found.has(true) : undefined
}

const sendsReasoningBack = (given: ProtocolSubject): void => {
  for (const { name, read, raw } of answersRead(given)) {
    const outcome = read()
    // What is sent back of them would be wrong, too.
    callsApart(outcome, name)
    const [choice] = outcome.choices
    if (choice === undefined) continue
    const { text, reasoning, details, calls } = choice
    const signatures = signaturesIn(details)
    const lostOne = (isOurs(given.protocol()) ? [] : signaturesSaid(raw)).find(
      (said) => !signatures.some((each) => each.includes(said)),
    )
    must(
      lostOne === undefined,
      `${name} has the signature ${shown(lostOne)}, and no piece of its reasoning_details has it: it has to go back in later turns. ` +
        'Where the host takes none, say so with `lacks: ["reasoning in history"]`',
      "ReasoningDetail.signature, ReasoningDetail.data",
    )
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
    const names = made.map((call) => call.name)
    const { objects } = saidWithin(raw)
    const astray = signatures.find((signature) => {
      const [came, goes] = [isOfCall(objects, signature, names), isOfCall(sent.objects, signature, names)]
      return came !== undefined && goes !== undefined && came !== goes
    })
    must(
      astray === undefined,
      `encode() sends the signature ${shown(astray)} of ${name} back in another place: ` +
        "what signs a call goes back with that call, what signs text with the text (ReasoningDetail.id is the call's)",
      "AssistantMessage.reasoning_details",
    )
  }
}
