/** What a session of an agent costs through the gateway, and what the same conversation costs straight at one host. */
import * as Layer from "effect/Layer"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { Upstream } from "../../../src/upstream/Upstream.ts"
import { agentForms } from "../agents/forms.ts"
import { agentHosts } from "../agents/hosts.ts"
import { ManualClock, pass } from "../clocks/manualClock.ts"
import { objectIn } from "../forms/script.ts"
import { gatewayWithoutSocket } from "../gateways/gateway.ts"
import { type AgentSession, pausedBefore, pauseMs, saidAt, turnMs, turns } from "./agentSessions.ts"
import { CachingVendor, type Counts, cachesBy, prices, usdOf } from "./CachingVendor.ts"
import { type Block, type CachingProtocol, promptOf } from "./prompts.ts"

/** Hosts of one protocol, each with so many keys of accounts of their own. */
export interface Setup {
  readonly protocol: CachingProtocol
  readonly hosts: number
  readonly keys: number
  /** In this turn the host of the session answers 503. */
  readonly failsAt?: number
}

export interface SessionCost {
  /** As the vendor bills it. */
  readonly usd: number
  /** As the gateway told the agent. */
  readonly told: number
  /** The account that served each turn. */
  readonly accounts: ReadonlyArray<string>
}

const outputTokens = 300

/** The host's answer with the tokens of its bill, in the words of its protocol. */
const usageOf: Readonly<Record<CachingProtocol, (counts: Counts) => JsonObject>> = {
  messages: ({ plain, read, written5m, written1h, output }) => ({
    usage: {
      ...{ input_tokens: plain, cache_read_input_tokens: read, output_tokens: output },
      cache_creation_input_tokens: written5m + written1h,
      cache_creation: { ephemeral_5m_input_tokens: written5m, ephemeral_1h_input_tokens: written1h },
    },
  }),
  converse: ({ plain, read, written5m, written1h, output }) => ({
    usage: {
      ...{ inputTokens: plain, outputTokens: output, totalTokens: plain + read + written5m + written1h + output },
      ...{ cacheReadInputTokens: read, cacheWriteInputTokens: written5m + written1h },
      cacheDetails: [
        { ttl: "5m", inputTokens: written5m },
        { ttl: "1h", inputTokens: written1h },
      ],
    },
  }),
  responses: ({ plain, read, output }) => ({
    usage: {
      ...{ input_tokens: plain + read, input_tokens_details: { cached_tokens: read }, output_tokens: output },
      ...{ output_tokens_details: { reasoning_tokens: 0 }, total_tokens: plain + read + output },
    },
  }),
  chat: ({ plain, read, output }) => ({
    usage: {
      ...{ prompt_tokens: plain + read, completion_tokens: output, total_tokens: plain + read + output },
      prompt_tokens_details: { cached_tokens: read },
    },
  }),
  gemini: ({ plain, read, output }) => ({
    usageMetadata: {
      ...{ promptTokenCount: plain + read, cachedContentTokenCount: read, candidatesTokenCount: output },
      totalTokenCount: plain + read + output,
    },
  }),
}

const models: Readonly<Record<CachingProtocol, string>> = {
  messages: "claude-opus-4-8",
  converse: "anthropic.claude-opus-4-8-v1:0",
  responses: "gpt-5.4",
  chat: "upstream",
  gemini: "gemini-3.5-flash",
}

const usd = (perMillion: number): string => (perMillion / 1e6).toFixed(9)

const configOf = ({ protocol, hosts, keys }: Setup) => {
  const slugs = Array.from({ length: hosts }, (_, at) => `host${at + 1}`)
  const more = Array.from({ length: keys - 1 }, (_, at) => at + 2)
  const isMarked = cachesBy[protocol] === "marked"
  return {
    providers: Object.fromEntries(
      slugs.map((slug, at) => [
        slug,
        {
          ...agentHosts[protocol].provider,
          base_url: `http://127.0.0.1:${at + 1}/v1`,
          network: "private" as const,
          api_keys: [{ key: `key-1-of-${slug}` }, ...more.map((of) => ({ key: `key-${of}-of-${slug}` }))] as const,
        },
      ]),
    ),
    models: [
      {
        id: "vendor/model",
        created: 1_760_000_000,
        context_length: 400_000,
        hosts: slugs.map((provider) => ({
          provider,
          model: models[protocol],
          supports_implicit_caching: !isMarked,
          max_completion_tokens: 64_000,
          pricing: {
            ...{ prompt: usd(prices.plain), completion: usd(prices.output), input_cache_read: usd(prices.read) },
            ...(isMarked
              ? { input_cache_write: usd(prices.written5m), input_cache_write_1h: usd(prices.written1h) }
              : {}),
          },
        })),
      },
    ],
  }
}

/** From the turn before to this one. */
const millisecondsTo = (turn: number): number => (turn === 1 ? 0 : turn === pausedBefore ? pauseMs : turnMs)

const json = async (response: Response): Promise<JsonObject> => {
  const body: unknown = await response.json()
  return objectIn(body)
}

/** Whose prompt caches a call reaches: a host and a key of its account. */
const accountOf = ({ url, headers }: Request): string => {
  const key = headers.get("x-api-key") ?? headers.get("x-goog-api-key") ?? headers.get("authorization") ?? ""
  return `${new URL(url).port} ${key.replace(/^Bearer /, "")}`
}

/** The session through a gateway of its own. */
export const throughGateway = async (session: AgentSession, setup: Setup): Promise<SessionCost> => {
  const clock = new ManualClock()
  const vendor = new CachingVendor(setup.protocol, () => clock.unsafeCurrentTimeMillis())
  const accounts: Array<string> = []
  let [turn, bill, told] = [0, 0, 0]
  const upstream = Upstream.layerFrom(async (request) => {
    const account = accountOf(request)
    const host = account.split(" ")[0] ?? ""
    if (turn === setup.failsAt && accounts.at(-1)?.startsWith(`${host} `) === true)
      return Response.json({ error: { message: "overloaded" } }, { status: 503 })
    const prompt = promptOf[setup.protocol](await json(new Response(request.body)))
    const counts = vendor.count(
      account,
      setup.protocol === "messages" ? withoutAttribution(prompt) : prompt,
      outputTokens,
    )
    bill += usdOf(counts)
    accounts.push(account)
    const answer = await json(agentHosts[setup.protocol].answer(saidAt(turn), false))
    return Response.json({ ...answer, ...usageOf[setup.protocol](counts) })
  })
  const gateway = await gatewayWithoutSocket({ config: configOf(setup), setting: Layer.setClock(clock), upstream })
  const { path } = agentForms[session.form]
  const talk = session.talk()
  for (turn = 1; turn <= turns; turn++) {
    await pass(clock, millisecondsTo(turn))
    const response = await gateway.call(path, {
      method: "POST",
      headers: { "content-type": "application/json", ...session.headers },
      body: JSON.stringify(talk.ask(turn)),
    })
    const answer = await json(response)
    if (response.status !== 200) throw new Error(`turn ${turn}: ${response.status} ${JSON.stringify(answer)}`)
    told += Number(response.headers.get("x-gw-cost-usd"))
    talk.hear(answer)
  }
  await gateway.stop()
  return { usd: bill, told, accounts }
}

/** Anthropic's hosts take the line out of the prompt, and to no other host it is of interest. */
const withoutAttribution = (prompt: ReadonlyArray<Block>): ReadonlyArray<Block> =>
  prompt.filter(({ text }) => !text.startsWith("system: x-anthropic-billing-header:"))

/**
 * The same conversation at one host of the protocol, in its own format: the blocks that the agent sends, under the same rules. `movesAt`: in
 * this turn another account takes over.
 */
export const straight = (session: AgentSession, protocol: CachingProtocol, movesAt?: number): number => {
  const clock = new ManualClock()
  const vendor = new CachingVendor(protocol, () => clock.unsafeCurrentTimeMillis())
  const own = session.form === "messages" ? "messages" : "responses"
  const talk = session.talk()
  let bill = 0
  for (let turn = 1; turn <= turns; turn++) {
    clock.advance(millisecondsTo(turn))
    const prompt = withoutAttribution(promptOf[own](talk.ask(turn)))
    bill += usdOf(vendor.count(movesAt !== undefined && turn >= movesAt ? "other" : "own", prompt, outputTokens))
    talk.hear(answerIn(session, turn))
  }
  return bill
}

/** What the agent hears in its own format from a host of that format. */
const answerIn = ({ form }: AgentSession, turn: number): JsonObject => {
  const said = saidAt(turn)
  if (form === "messages")
    return {
      content: [
        { type: "text", text: said.text },
        ...said.calls.map(({ id, name, input }) => ({ type: "tool_use", id, name, input })),
      ],
    }
  return {
    output: [
      { type: "message", role: "assistant", content: [{ type: "output_text", text: said.text }] },
      ...said.calls.map(({ id, name, input }) => ({
        ...{ type: "function_call", call_id: id, name, arguments: JSON.stringify(input) },
      })),
    ],
  }
}
