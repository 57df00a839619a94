/**
 * Sessions of 20 requests as Claude Code and Codex send them (2026-11): tools in a loop with an image, a reminder a turn, a pause, and a
 * compaction, after which the conversation begins anew with a summary. The texts are made up, the shapes and sizes are the programs'.
 */
import type { JsonObject } from "../../../src/domain/json/json.ts"
import type { Said } from "../agents/AgentHost.ts"
import { agentForms, type FormName } from "../agents/forms.ts"
import { objectsIn } from "../forms/script.ts"

export interface AgentSession {
  readonly name: string
  readonly form: FormName
  readonly headers: Readonly<Record<string, string>>
  /** The requests of a session, each made of the answer to the one before. */
  readonly talk: () => Talk
}

export interface Talk {
  /** The body of the request of a turn, from 1. */
  readonly ask: (turn: number) => JsonObject
  readonly hear: (answer: JsonObject) => void
}

export const turns = 20
/** The user is away for twelve minutes before this turn. */
export const pausedBefore = 12
export const pauseMs = 12 * 60_000
/** Between any other two turns. */
export const turnMs = 20_000
/** After these the user speaks; elsewhere a call is answered. `summary`: what is asked for is a summary. */
const spoken: Readonly<Record<number, string>> = { 6: "Now the tests.", 14: "summary", 15: "Go on.", 20: "" }
const pictured = 5

/** A text of so many tokens, like no other of another name. */
const textOf = (name: string, tokens: number): string => {
  let text = ""
  for (let line = 0; text.length < tokens * 4; line++) text += `${name} line ${line}: the quick brown fox jumps over.\n`
  return text.slice(0, tokens * 4)
}

/** What the model answers in a turn, whatever the host. */
export const saidAt = (turn: number): Said => ({
  thought: textOf(`thought ${turn}`, 60),
  text: textOf(`answer ${turn}`, spoken[turn] === undefined ? 40 : 300),
  calls:
    spoken[turn] === undefined
      ? [{ kind: "function", id: `call_${turn}`, name: "read_file", input: { path: `/src/file${turn}.ts` } }]
      : [],
})

const resultOf = (turn: number): string => textOf(`file ${turn}`, 300 + ((turn * 577) % 2400))

const tools = Array.from({ length: 16 }, (_, at) => ({
  name: at === 0 ? "read_file" : `tool_${at}`,
  description: textOf(`tool ${at}`, 600),
  parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
}))

const picture = Buffer.from("a picture").toString("base64")
const sessionId = "5e2f0c1d-0000-4000-8000-00000000c0de"

// --- Claude Code

const anHour: JsonObject = { type: "ephemeral", ttl: "1h" }

/** As code.claude.com/docs/en/llm-gateway-protocol describes it (2026-11): another `cch` in each request. */
export const attributionOf = (turn: number): string =>
  `x-anthropic-billing-header: cc_version=2.1.278.c0d; cc_entrypoint=cli; cch=${Bun.hash(`${turn}`).toString(16).slice(0, 5)};`

const reminder = (turn: number): string => `<total_tokens>${180_000 - turn * 1500} tokens left</total_tokens>`

/** The newest block of the conversation is marked, and no other one. */
const newestMarked = (messages: ReadonlyArray<JsonObject>): ReadonlyArray<JsonObject> =>
  messages.map((message, at) => {
    const content = objectsIn(message["content"])
    return at < messages.length - 1
      ? message
      : {
          ...message,
          content: content.map((block, of) => (of < content.length - 1 ? block : { ...block, cache_control: anHour })),
        }
  })

const claudeCode: AgentSession = {
  name: "Claude Code",
  form: "messages",
  headers: {
    "user-agent": "claude-cli/2.1.278 (external, cli)",
    "anthropic-version": "2023-06-01",
    "anthropic-beta": "claude-code-20250219,interleaved-thinking-2025-05-14,extended-cache-ttl-2025-04-11",
    "x-claude-code-session-id": sessionId,
  },
  talk: () => {
    let messages: Array<JsonObject> = []
    let answered = 0
    const user = (turn: number, ...content: ReadonlyArray<JsonObject>) => {
      messages.push({ role: "user", content })
      messages.push({ role: "system", content: [{ type: "text", text: reminder(turn) }] })
    }
    return {
      ask: (turn) => {
        const said = spoken[answered]
        if (answered === 0) {
          const context = `<system-reminder>${textOf("CLAUDE.md", 900)}</system-reminder>`
          user(turn, { type: "text", text: context }, { type: "text", text: "Fix the bug." })
        } else if (said === undefined) {
          const text = { type: "text", text: resultOf(answered) }
          const source = { type: "base64", media_type: "image/png", data: picture }
          const content = answered === pictured ? [text, { type: "image", source }] : [text]
          user(turn, { type: "tool_result", tool_use_id: `call_${answered}`, content })
        } else if (said === "summary") user(turn, { type: "text", text: "Summarize the conversation." })
        else user(turn, { type: "text", text: said })
        return {
          model: "vendor/model",
          max_tokens: 32_000,
          thinking: { type: "adaptive" },
          metadata: {
            user_id: JSON.stringify({ device_id: "d".repeat(64), account_uuid: "", session_id: sessionId }),
          },
          system: [
            { type: "text", text: attributionOf(turn) },
            { type: "text", text: "You are Claude Code, Anthropic's official CLI for Claude.", cache_control: anHour },
            { type: "text", text: textOf("instructions", 4000), cache_control: anHour },
          ],
          tools: tools.map(({ parameters, ...tool }) => ({ ...tool, input_schema: parameters })),
          messages: newestMarked(messages),
        }
      },
      hear: (answer) => {
        const { text, given } = agentForms.messages.heard(answer, "items")
        const wasSummary = spoken[answered] === "summary"
        answered += 1
        if (!wasSummary) messages.push(...given)
        else messages = [{ role: "user", content: [{ type: "text", text: `The conversation so far: ${text}` }] }]
      },
    }
  },
}

// --- Codex

const message = (role: string, ...content: ReadonlyArray<JsonObject>): JsonObject => ({
  type: "message",
  role,
  content,
})
const inputText = (text: string): JsonObject => ({ type: "input_text", text })

const codex: AgentSession = {
  name: "Codex",
  form: "responses",
  headers: { "user-agent": "codex_exec/0.169.0 (Linux)", originator: "codex_exec", "session-id": sessionId },
  talk: () => {
    const opening = [
      message("developer", inputText(textOf("permissions", 900))),
      message("user", inputText(textOf("AGENTS.md", 900))),
    ]
    let input: Array<JsonObject> = [...opening]
    let answered = 0
    return {
      ask: (turn) => {
        const said = spoken[answered]
        if (answered === 0) input.push(message("user", inputText("Fix the bug.")))
        else if (said === undefined) {
          const shown = { type: "input_image", image_url: `data:image/png;base64,${picture}` }
          const output = answered === pictured ? [inputText(resultOf(answered)), shown] : resultOf(answered)
          input.push({ type: "function_call_output", call_id: `call_${answered}`, output })
        } else input.push(message("user", inputText(said === "summary" ? "Summarize the conversation." : said)))
        if (turn % 5 === 0) input.push(message("developer", inputText(reminder(turn))))
        return {
          model: "vendor/model",
          instructions: textOf("instructions", 4000),
          tools: tools.map((tool) => ({ type: "function", ...tool, strict: false })),
          tool_choice: "auto",
          parallel_tool_calls: true,
          reasoning: { effort: "medium", summary: "auto" },
          store: false,
          include: ["reasoning.encrypted_content"],
          prompt_cache_key: sessionId,
          input: [...input],
        }
      },
      hear: (answer) => {
        const { text, given } = agentForms.responses.heard(answer, "vendor")
        const wasSummary = spoken[answered] === "summary"
        answered += 1
        if (!wasSummary) input.push(...given)
        else input = [...opening, message("user", inputText(`The conversation so far: ${text}`))]
      },
    }
  },
}

export const agentSessions: ReadonlyArray<AgentSession> = [claudeCode, codex]
