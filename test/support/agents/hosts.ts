/** A host of each protocol. */
import type { AgentHost } from "./AgentHost.ts"
import { chat, strictChat } from "./chatHosts.ts"
import { cohere } from "./cohereHost.ts"
import { converse } from "./converseHost.ts"
import { gemini } from "./geminiHost.ts"
import { messages } from "./messagesHost.ts"
import { ollama } from "./ollamaHost.ts"
import { responses } from "./responsesHost.ts"

export const hostNames = [
  "responses",
  "chat",
  "strict chat",
  "messages",
  "gemini",
  "converse",
  "cohere",
  "ollama",
] as const

export type HostName = (typeof hostNames)[number]

export const agentHosts: Readonly<Record<HostName, AgentHost>> = {
  responses,
  chat,
  "strict chat": strictChat,
  messages,
  gemini,
  converse,
  cohere,
  ollama,
}
