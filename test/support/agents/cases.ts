/** What agents send, each construct in a small request of our own. */
import type { AgentCase } from "./caseParts.ts"
import { ofChat, ofMessages, thinkingLate } from "./otherCases.ts"
import { ofResponses } from "./responsesCases.ts"

export const agentCases: ReadonlyArray<AgentCase> = [...ofResponses, ...ofChat, ...ofMessages, thinkingLate]
