import type { Unsupported } from "../../domain/failures/Failure.ts"
import type { JsonObject } from "../../domain/json/json.ts"
import type { ChatPayload } from "../../domain/request/chat.ts"
import type { HostReasons } from "../httpError.ts"

/** The reasoning that a caller asks for, to be said in a host's own words. */
export interface AskedReasoning {
  /** What the host calls the model. */
  readonly model: string
  /** `none`: no reasoning. Where the caller gave a number of tokens, the effort that is nearest to it. */
  readonly effort: string
  /** Tokens, where the caller gave a number of them. */
  readonly tokens: number | undefined
}

/** How a host differs from the common form of the chat protocol. */
export interface ChatQuirks {
  /** The member that bounds the output. Default `max_tokens`. */
  readonly maxTokens?: "max_tokens" | "max_completion_tokens"
  /**
   * How reasoning is requested: by `reasoning_effort` (default), by the caller's own members, or not at all. A function
   * gives the host's own members; `undefined`: the host cannot do it. They win over members that the caller wrote.
   */
  readonly reasoning?: "effort" | "router" | "none" | ((asked: AskedReasoning) => JsonObject | undefined)
  /**
   * The efforts that a model (as the host calls it) knows; the nearest one is sent. Empty: those that the catalogue has
   * of the model; where it has none, the caller's is sent, whatever it is.
   */
  readonly efforts?: (upstreamModel: string) => ReadonlyArray<string>
  /**
   * Which instructions the host knows. `one`: a single message of the role `system`, in front, as templates of open
   * models want it; several are joined there, and later ones are texts of the user's (default). `system`: any number of
   * that role, anywhere. `developer`: of both roles.
   */
  readonly instructions?: "one" | "system" | "developer"
  /**
   * How earlier reasoning is sent in assistant messages: unchanged (default), as `reasoning_content`, or not at all.
   */
  readonly history?: "reasoning" | "reasoning_content" | "none"
  /**
   * With `history: "reasoning_content"`: what stands for the reasoning of an earlier message with calls that has none,
   * such as one of another vendor's model, where a model (as the host calls it) that thinks refuses the message
   * otherwise.
   */
  readonly missingReasoning?: (upstreamModel: string) => string | undefined
  /** The host refuses members that its vendor's API does not have: what routers added to it, and `cache_control`. */
  readonly strict?: boolean
  /**
   * Whether results of tools may have images and files. Default false: they are text, and what else they have is sent
   * in a message of the user's after them.
   */
  readonly resultMedia?: boolean
  /** `false`: the host refuses `cache_control` in messages and tools, though not what else routers added. */
  readonly cacheControl?: boolean
  /**
   * Further top-level members that the host refuses, by the names under which it would get them. `model`, `stream` and
   * the bound of the output are sent all the same, since the reservation depends on the bound.
   */
  readonly drop?: ReadonlyArray<string>
  /** The only top-level members that the host takes, by its own names: it refuses all others. Default: any. */
  readonly takes?: ReadonlyArray<string>
  /** Members of the vendor's own that callers may write, beside the canonical ones: they pass unread. Default: none. */
  readonly own?: ReadonlyArray<string>
  /** `any`: whatever callers write passes unread, as to software that an operator runs. It wins over `own`. */
  readonly passes?: "any"
  /** The host's own names of members of the payload: `{ seed: "random_seed" }`. */
  readonly names?: Readonly<Record<string, string>>
  /** Members that every request has, whatever the caller wrote. Constant for a model. */
  readonly always?: (upstreamModel: string) => JsonObject
  /**
   * Whether the host knows `custom` tools and a choice of `allowed_tools`, as OpenAI does. Default: with `passes:
   * "any"`, since it may. Elsewhere `allowed_tools` becomes the tools that are sent, and custom tools become functions.
   */
  readonly customTools?: boolean
  /** `false`: the host supports JSON objects but not JSON schemas. A schema is added to the instructions. */
  readonly schemas?: boolean
  /**
   * The payload in the host's own form, for what no other quirk says; it runs first, and the quirks about messages and
   * tools do not change what it gave, but for `instructions`. Members that it leaves out are reported as dropped; what
   * else is lost it adds to `dropped`. `Unsupported` where the host cannot be asked. Pure.
   */
  readonly rewrite?: (payload: ChatPayload, dropped: Array<string>) => JsonObject | Unsupported
  /**
   * Members of a message that the host refuses, such as `name`. A `refusal` is sent as text instead; `images` are named
   * as dropped.
   */
  readonly dropInMessages?: ReadonlyArray<string>
  /** `false`: the host refuses `stream_options`. */
  readonly streamUsage?: boolean
  /** The host writes its reasoning into the text, between `<think>` and `</think>`. */
  readonly thinkTags?: boolean
  /** The host's `completion_tokens` exclude the reasoning, and its total does not show it. */
  readonly reasoningBeside?: boolean
  /**
   * The error in an answer with status 200, or in an event, where it has another place than `error`. `undefined`: none.
   * Pure.
   */
  readonly errorIn?: (body: JsonObject) => JsonObject | undefined
  /** What the host's own error codes or statuses mean, where common words do not tell. */
  readonly reasons?: HostReasons
  /** Below the base URL. Default `/chat/completions`. */
  readonly path?: (upstreamModel: string) => string
  /** As `Protocol.usage`. */
  readonly usage?: "largest" | "last"
  /** As `Protocol.usageAfterError`. */
  readonly usageAfterError?: boolean
  /**
   * The most characters of a call's id that the host takes. Longer ids of other hosts get one of their own. Default:
   * any.
   */
  readonly longestCallId?: number
}
