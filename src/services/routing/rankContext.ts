/** What a ranking is told of a request besides the hosts. What takes time to find out is found out when it is first read. */
import { expectedCost } from "../../domain/money/expectedCost.ts"
import type { BudgetSnapshot } from "../../domain/money/reservation.ts"
import type { AnyRequest } from "../../domain/request/operations.ts"
import { userHash, userOf } from "../../domain/request/userHash.ts"
import { randomSequence } from "../../domain/structures/randomSequence.ts"
import {
  type BudgetView,
  type CallerView,
  type RankContext,
  unknownConversation,
  unlimitedBudget,
} from "../../plugin/strategy.ts"
import type { Conversation } from "../request/Conversations.ts"

export interface RankFacts {
  readonly request: AnyRequest
  readonly budget: BudgetSnapshot
  /** Unix milliseconds. */
  readonly now: number
  /** Of the random numbers. */
  readonly seed: number
  /** The id of the caller's key; `undefined`: nobody's. */
  readonly key: string | undefined
  readonly conversation: Conversation | undefined
  /** The installation's id. */
  readonly installation: string
}

export const rankContext = (facts: RankFacts): RankContext => {
  const { request, now, conversation } = facts
  return {
    request,
    now,
    random: randomSequence(facts.seed),
    conversation: conversation ?? unknownConversation,
    caller: new RequestCaller(facts),
    budget: budgetView(facts.budget),
    expectedCost: (host) => expectedCost(request, host, now),
  }
}

const budgetView = ({ limit, spend, reserved, resetsAt }: BudgetSnapshot): BudgetView => {
  if (limit === null) return unlimitedBudget
  const left = limit - spend - reserved
  return { limit, left: left > 0n ? left : 0n, resetsAt }
}

class RequestCaller implements CallerView {
  readonly key: string | null
  private readonly facts: RankFacts
  private userFound: string | null | undefined
  private conversationFound: string | null | undefined

  constructor(facts: RankFacts) {
    this.key = facts.key ?? null
    this.facts = facts
  }

  get user(): string | null {
    if (this.userFound === undefined) {
      const user = userOf(this.facts.request)
      this.userFound = user === null ? null : userHash(this.facts.installation, user)
    }
    return this.userFound
  }

  get conversation(): string | null {
    const { conversation, installation } = this.facts
    this.conversationFound ??= conversation?.idIn(installation) ?? null
    return this.conversationFound
  }
}
