/**
 * One gateway with a strict host of each protocol, for real agents. The hosts share one script: each request of the agent
 * gets the next answer of it. A host refuses what its vendor would, and what it did not say itself.
 */
import type { JsonObject } from "../../../../src/domain/json/json.ts"
import { objectIn, objectsIn } from "../../forms/script.ts"
import { startGateway } from "../../gateways/gateway.ts"
import { scriptedHost } from "../../hosts/host.ts"
import { agentHosts } from "../hosts.ts"
import { answerAt, type LiveHost, linesOf, liveHosts, type Part, type ToCall } from "./orderedHosts.ts"

/** A part that a host is to say; seals and ids are made when it does. */
export type Planned = "thought" | { readonly text: string } | { readonly call: Omit<ToCall, "id"> }

export interface Step {
  readonly parts: ReadonlyArray<Planned>
  /** Tokens that the prompt of this answer had. Default: 1,000. */
  readonly prompt?: number
}

/** What passed between an agent and the gateway. */
interface Passed {
  readonly method: string
  readonly path: string
  readonly status: number
  readonly dropped: string | null
  /** What the agent sent. */
  readonly body: string
  /** The body of an answer from 400 on. */
  readonly error: string
}

/**
 * What an agent keeps of an answer. `signed`: reasoning only where it is signed; `texts`: of reasoning the text alone, joined;
 * `calls`: no reasoning, but the signatures of calls.
 */
export type Keeps = "everything" | "signed" | "texts" | "calls"

export interface Habits {
  readonly keeps: Keeps
  /** Whether a request with these lines asks for a summary of the conversation. */
  readonly isSummary: (lines: ReadonlyArray<string>) => boolean
}

export interface LiveScene {
  /** `http://127.0.0.1:<port>`: of what stands before the gateway and records. */
  readonly origin: string
  readonly key: string
  /** Begins a session: nothing was said yet. */
  readonly start: (agent: Habits) => void
  /** What the hosts say from now on. */
  readonly play: (steps: ReadonlyArray<Step>) => void
  /** What was wrong so far in the session, and steps that were not asked for. */
  readonly wrong: () => ReadonlyArray<string>
  readonly passed: ReadonlyArray<Passed>
  /** Summaries that were asked for in the session. */
  readonly summaries: () => number
  /** Requests of the session at hosts. */
  readonly asked: ReadonlyArray<{ readonly host: LiveHost; readonly body: JsonObject }>
  readonly stop: () => Promise<void>
}

export const liveModel = (host: LiveHost): string => `agents/${host}`

/** Hosts of Claude's models, which read each other's reasoning. The host of the chat form signs as they do. */
const ofClaude: ReadonlyArray<LiveHost> = ["messages", "converse", "chat"]
/** Hosts that know their own reasoning again. */
const sealing: ReadonlyArray<LiveHost> = ["messages", "converse", "responses", "gemini"]

const isThought = (entry: string): boolean => entry.startsWith("thought: ")

/** Anthropic's words. */
const changed = "`thinking` blocks in the latest assistant message cannot be modified"
const foreign = "Invalid `signature` in `thinking` block"

const refusal = (message: string): Response =>
  Response.json(
    {
      type: "error",
      message,
      error: { type: "invalid_request_error", code: 400, status: "INVALID_ARGUMENT", message },
    },
    { status: 400 },
  )

/** Claude's models then give the signature of their thinking without its text; so does the gateway for other models. */
const hidesThinking = ({ thinking, additionalModelRequestFields: more }: JsonObject): boolean =>
  [thinking, objectIn(more)["thinking"]].some((one) => objectIn(one)["display"] === "omitted")

/** Anthropic and Google take several messages of one role for one. */
const merged = (body: JsonObject): JsonObject => ({
  ...body,
  ...joinedTurns("messages", "content", body),
  ...joinedTurns("contents", "parts", body),
})

const joinedTurns = (list: string, member: string, body: JsonObject): JsonObject => {
  if (body[list] === undefined) return {}
  const turns: Array<JsonObject> = []
  for (const turn of objectsIn(body[list])) {
    const before = turns.at(-1)
    const { role, [member]: said } = turn
    if (before?.["role"] !== role) turns.push(turn)
    else turns[turns.length - 1] = { role, [member]: [...blocksOf(before?.[member]), ...blocksOf(said)] }
  }
  return { [list]: turns }
}

const blocksOf = (content: unknown): ReadonlyArray<JsonObject> =>
  typeof content === "string" ? [{ type: "text", text: content }] : objectsIn(content)

interface Said {
  readonly host: LiveHost
  /** All of it, and what the agent is to give back. */
  readonly all: ReadonlyArray<string>
  readonly lines: ReadonlyArray<string>
}

const isUnsigned = (entry: string): boolean => isThought(entry) && !entry.endsWith("]")

/** OpenAI checks the ciphertext of its reasoning, not the summaries beside it. */
const seen = (host: LiveHost, entry: string): string =>
  host === "responses" ? entry.replace(/^thought: .* (?=\[[^\]]*\]$)/s, "thought: ") : entry

/** Where `wanted` stands in `all` without a gap; -1: nowhere. */
const placeOf = (wanted: ReadonlyArray<string>, all: ReadonlyArray<string>): number =>
  all.findIndex((_, at) => wanted.every((entry, next) => all[at + next] === entry))

export const liveScene = async (): Promise<LiveScene> => {
  let steps: ReadonlyArray<Step> = []
  let at = 0
  let count = 0
  let results = 0
  let summaries = 0
  /** Whether the agent wants signatures of reasoning without texts. */
  let isHidden = false
  let said: Array<Said> = []
  let problems: Array<string> = []
  let habits: Habits = { keeps: "everything", isSummary: () => false }
  const asked: Array<{ host: LiveHost; body: JsonObject }> = []
  const passed: Array<Passed> = []

  const made = (host: LiveHost, planned: ReadonlyArray<Planned>, body: JsonObject): ReadonlyArray<Part> => {
    const thinks = agentHosts[host].isToThink(body)
    const hides = hidesThinking(body)
    const answer = count++
    const seal = (name: string) =>
      host === "cohere" || host === "ollama" ? "" : Buffer.from(`${host} signed ${answer} ${name}`).toString("base64")
    let isSigned = false
    return planned.flatMap((part, number): ReadonlyArray<Part> => {
      if (part === "thought") {
        const text = hides ? "" : `Thought ${answer}.${number} of ${host}. `
        return thinks ? [{ kind: "thought", text, seal: host === "gemini" ? "" : seal(`thought ${number}`) }] : []
      }
      if ("text" in part) return [{ kind: "text", text: `${part.text} (${answer}.${number} of ${host})` }]
      const own = host === "gemini" && !isSigned ? seal("calls") : ""
      isSigned = true
      return [{ kind: "call", id: `call_${answer}_${number}`, seal: own, ...part.call }]
    })
  }

  /** What the agent has left of an answer when it gives it back. */
  const keptOf = (host: LiveHost, parts: ReadonlyArray<Part>): ReadonlyArray<Part> => {
    if (isHidden) return parts.map((part) => (part.kind === "thought" ? { ...part, text: "" } : part))
    const thoughts = parts.flatMap((part) => (part.kind === "thought" ? [part] : []))
    const rest = parts.filter(({ kind }) => kind !== "thought")
    switch (habits.keeps) {
      case "everything":
        return parts
      case "signed":
        return parts.filter((part) => part.kind !== "thought" || part.seal !== "")
      case "calls":
        return rest
      case "texts": {
        const text = thoughts.map((thought) => thought.text).join("")
        const unsealed = rest.map((part) => (part.kind === "call" ? { ...part, seal: "" } : part))
        // Hosts that do not sign take such a text.
        const isTaken = text !== "" && (host === "chat" || host === "ollama")
        return isTaken ? [{ kind: "thought", text, seal: "" }, ...unsealed] : unsealed
      }
    }
  }

  /** What is wrong with a request. */
  const faultsOf = (
    host: LiveHost,
    body: JsonObject,
    betas: string,
    given: ReadonlyArray<string>,
  ): ReadonlyArray<string> => {
    const lines = given.map((entry) => seen(host, entry))
    const family = ofClaude.includes(host) ? ofClaude : [host]
    const own = said
      .filter((one) => family.includes(one.host))
      .flatMap((one) => [...one.all, ...one.lines].map((entry) => seen(host, entry)))
    const sealed = sealing.includes(host) ? lines.filter((entry) => isThought(entry) && !own.includes(entry)) : []
    const mine = said.filter((one) => one.host === host)
    const shown = JSON.stringify(lines.filter((entry) => !/^(?:system|developer|instructions|user): /.test(entry)))
    // What is not signed may come back.
    const compared = habits.keeps === "signed" ? lines.filter((entry) => !isUnsigned(entry)) : lines
    const lost = mine.filter(
      (one) =>
        placeOf(
          one.lines.map((entry) => seen(host, entry)),
          compared,
        ) === -1,
    )
    const found = lines.filter((entry) => entry.startsWith("result ")).length
    return [
      ...agentHosts[host].refusals(host === "messages" || host === "gemini" ? merged(body) : body),
      // Anthropic's page on context editing, 2026-11.
      ...(host === "messages" && body["context_management"] !== undefined && !betas.includes("context-management-")
        ? ["context_management: Extra inputs are not permitted"]
        : []),
      ...sealed.map((entry) => `${foreign}: ${entry}`),
      ...lost.map((one) => `${changed}: ${JSON.stringify(one.lines)} came back as ${shown}`),
      ...(found === results ? [] : [`${found} results where ${results} were given: ${shown}`]),
    ]
  }

  const answer = (host: LiveHost, body: JsonObject, request: Request): Response => {
    asked.push({ host, body })
    const isStream = body["stream"] === true || request.url.toLowerCase().includes("stream")
    const { tools, turns: lines } = agentHosts[host].asked(body)
    if (habits.isSummary(lines)) {
      summaries += 1
      said = []
      results = 0
      const text = "<summary>hello.txt was read; out.txt is to be written.</summary>"
      return answerAt(host, [{ kind: "text", text }], isStream, 1000)
    }
    // Titles and the like.
    if (tools.length === 0) return answerAt(host, [{ kind: "text", text: "A title" }], isStream, 1000)
    const faults = faultsOf(host, body, request.headers.get("anthropic-beta") ?? "", lines)
    problems.push(...faults.map((fault) => `${host}: ${fault}`))
    const step = steps[at]
    if (step === undefined) problems.push(`${host}: asked more often than the session has answers`)
    const [fault] = faults
    if (fault !== undefined) return refusal(fault)
    at += 1
    // Where an agent has lost the reasoning of a call, Claude could not go on thinking.
    const mayThink = habits.keeps === "everything" || habits.keeps === "signed" || said.length === 0
    if (mayThink && !agentHosts[host].isToThink(body)) problems.push(`${host}: not asked to think`)
    const parts = made(host, step?.parts ?? [{ text: "Nothing is left." }], body)
    said.push({
      host,
      all: linesOf(host, parts),
      lines: linesOf(host, keptOf(host, parts)).filter((entry) => entry !== "thought: "),
    })
    results += parts.filter(({ kind }) => kind === "call").length
    return answerAt(host, parts, isStream, step?.prompt ?? 1000)
  }

  const hosts = liveHosts.map((name) => ({
    name,
    host: scriptedHost((body, request) => answer(name, body, request)),
  }))
  const gateway = await startGateway({
    config: {
      providers: Object.fromEntries(
        hosts.map(({ name, host }) => [
          `the-${name}`,
          { ...agentHosts[name].provider, base_url: host.url, network: "private" as const, api_key: "x" },
        ]),
      ),
      models: liveHosts.map((name) => ({
        id: liveModel(name),
        name,
        created: 1_760_000_000,
        context_length: 200_000,
        hosts: [
          {
            provider: `the-${name}`,
            model: agentHosts[name].model,
            pricing: { prompt: "0.000001", completion: "0.000002", input_cache_read: "0.0000001" },
            max_completion_tokens: 64_000,
          },
        ],
      })),
      limits: {
        breaker: { consecutive_failures: 0, error_rate: 0 },
        cooldown: { account_s: 0, not_found_s: 0, rate_limit_s: 0, max_s: 0 },
      },
    },
  })
  const { origin } = new URL(gateway.url)
  const tap = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    fetch: async (request) => {
      const { pathname, search } = new URL(request.url)
      const { method, headers } = request
      const body = method === "POST" ? await request.text() : null
      if (body?.includes('"tools":[{') === true) isHidden = hidesThinking(JSON.parse(body))
      const response = await fetch(`${origin}${pathname}${search}`, { method, headers, body, decompress: false })
      const error = response.status < 400 ? "" : await response.clone().text()
      const dropped = response.headers.get("x-gw-dropped")
      passed.push({ method, path: `${pathname}${search}`, status: response.status, dropped, body: body ?? "", error })
      return response
    },
  })
  return {
    origin: `http://127.0.0.1:${tap.port}`,
    key: gateway.key,
    start: (agent) => {
      said = []
      problems = []
      results = 0
      summaries = 0
      habits = agent
      asked.length = 0
      passed.length = 0
    },
    play: (given) => {
      steps = given
      at = 0
    },
    wrong: () => [...problems, ...(at < steps.length ? [`${steps.length - at} answers were not asked for`] : [])],
    passed,
    summaries: () => summaries,
    asked,
    stop: async () => {
      await tap.stop(true)
      await gateway.stop()
      for (const { host } of hosts) await host.stop()
    },
  }
}
