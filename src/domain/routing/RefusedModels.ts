/**
 * Which hosts of a model are still tried after one of them refused the request, by what its code and message say. Pure.
 * See docs/guarantees.md#g10.
 */
import type { HostFailed } from "../failures/Failure.ts"
import type { Host } from "../hosts/Host.ts"

/** What one host refuses and another host of the model may take. The client gets it as `error_type`. */
export type HostRefusal =
  /** The prompt is too long for the host. */
  | "context_length_exceeded"
  /** A content filter of the host, or of the operator's resource there. */
  | "content_policy_violation"
  /** The host bounds the number of tools. */
  | "too_many_tools"
  /** The host does not serve the model by this operation. */
  | "unsupported_operation"
  /** The host lacks a capability or a parameter: images, tools in a stream, `stream_options`. */
  | "unsupported_feature"

/**
 * Codes: OpenAI and compatible APIs, llama.cpp (`exceed_context_size_error`), Anthropic (`request_too_large`), GitHub
 * (`tokens_limit_reached`), Z.AI (1261).
 */
const tooLongCodes =
  /context_?(?:length|window|size)|(?:prompt|input|string|request)_?too_?(?:long|large)|tokens?_limit_(?:reached|exceeded)|^1261$/i

/**
 * Vendors' messages about a prompt that is too long, from their SDKs, source code and bodies that users quote (2025 and
 * 2026).
 */
const tooLongWords = new RegExp(
  [
    // OpenAI, vLLM, DeepSeek, OpenRouter, LM Studio, Ollama, llama.cpp, MiniMax, Fireworks and many more; Anthropic:
    // "input length and `max_tokens` exceed context limit".
    "context (?:length|window|size|limit)|maximum context|max(?:imum)? model length|max_model_len",
    // Anthropic, Bedrock, Perplexity ("total length of all messages is too long"), Ollama ("prompt too long").
    "(?:prompt|input|messages?|conversation) (?:(?:is|are) )?too long",
    // xAI, Alibaba, Z.AI.
    "maximum prompt length|range of input length should be|(?:prompt|input)(?: length| tokens?)? exceeds (?:the )?(?:max|limit)",
    // Moonshot; GitHub Copilot; Google: "The input token count (9) exceeds the maximum number of tokens allowed (8)".
    "model token limit|token count[^.]{0,60} exceeds|token limit exceeded",
    // Mistral, Cohere (except where `max_tokens` is too large), Groq.
    "tokens[^.]{0,60}too large for model|too many tokens(?!: max tokens)|reduce the length of (?:the|your) (?:messages|prompt|input)",
    // Hugging Face's servers, Together: "`inputs` tokens + `max_new_tokens` must be <= 8193", "`inputs` must have less
    // than 1024 tokens".
    String.raw`inputs. tokens \+ .max_new_tokens. must be|inputs. must have less than \d+ tokens`,
    // llama.cpp.
    String.raw`input \(\d+ tokens\) is too large`,
  ].join("|"),
  "i",
)

/**
 * What hosts' codes and messages mean; the first row that matches decides. From bodies that users quote (2024 to 2026),
 * such as those of microsoft/graphrag#1557, egoist/chatwise-releases#1256, gsd-build/gsd-2#4376,
 * anomalyco/opencode#28911, earendil-works/pi#3739 and ollama/ollama#17301.
 */
const refusals: ReadonlyArray<readonly [refusal: HostRefusal, codes: RegExp | undefined, words: RegExp]> = [
  ["context_length_exceeded", tooLongCodes, tooLongWords],
  [
    "content_policy_violation",
    // Azure (content_filter, ResponsibleAIPolicyViolation), Moonshot, Alibaba (data_inspection_failed).
    /content_?(?:filter|policy)|responsible_?ai|data_?inspection/i,
    // Azure, Anthropic ("Output blocked by content filtering policy"); DeepSeek; Moonshot; Alibaba; OpenAI
    // (`invalid_prompt`).
    /content (?:management|filter(?:ing)?|safety) polic|content exists risk|considered high risk|may contain inappropriate content|potentially violating our usage polic/i,
  ],
  [
    "too_many_tools",
    undefined,
    // OpenAI, Azure ("Invalid 'tools': array too long"), Groq ("'tools' : maximum number of items is 128"); xAI;
    // GitHub.
    /'tools' ?: (?:array too long|maximum number of items)|too many tools|maximum tools limit|(?:more than|at most|maximum of) \d+ (?:tools|functions)\b/i,
  ],
  [
    "unsupported_operation",
    /operation_?not_?supported/i,
    // Azure; OpenAI, 404; vLLM; Bedrock ("This action doesn't support the model that you provided.").
    /operation does not work with the specified model|(?:only|not) supported in (?:the )?v1\/|support (?:the )?(?:chat completions|responses) api|action doesn.t support the model/i,
  ],
  [
    "unsupported_feature",
    // OpenAI (unsupported_parameter, unsupported_value, array_above_max_length), Mistral (extra_forbidden).
    /unsupported_(?:parameter|value|feature)|extra_forbidden|array_above_max_length/i,
    // OpenAI ("image_url is only supported by certain models"); Bedrock, Ollama, OpenAI; Anthropic, Mistral; Nova;
    // DeepSeek; vLLM; llama.cpp.
    /only supported (?:by|with|for) |(?:does|do)(?: not|n.t) support |(?:is|are) not supported\b|extra inputs are not permitted|extraneous key|unknown variant .image_url|is not a multimodal model|at most 0 image|cannot use tools with stream/i,
  ],
]

/** What the host's code and message say; `undefined`: nothing of the kind. */
export const refusalIn = (code: string | undefined, detail: string | undefined): HostRefusal | undefined =>
  refusals.find(([, codes, words]) => codes?.test(code ?? "") === true || words.test(detail ?? ""))?.[0]

/** Why this host refused the request, where another host of the model may take it; `undefined`: no host takes it. */
export const refusalOf = ({ reason, code, detail }: HostFailed): HostRefusal | undefined =>
  reason === "request" ? refusalIn(code, detail) : undefined

/** Whether a host refused the request because the prompt is too long for it. */
export const isTooLong = (failure: HostFailed): boolean => refusalOf(failure) === "context_length_exceeded"

/** What refusals leave of the hosts of one model. */
interface Left {
  /** Tokens of context that a host must exceed. Infinite: no host is left. */
  readonly longerThan: number
  /** Whether a host refused the request for a reason of its own, so that the next refusal is the last one. */
  readonly isRefused: boolean
  /** Whether the host would refuse it for the same reason. */
  readonly refusesToo: (host: Host) => boolean
}

/**
 * OpenAI and Azure: "The encrypted content gAAA...Rg== could not be verified. Reason: Encrypted content could not be
 * decrypted or parsed." (openai/codex#8145, 2025-12; Wei-Shaw/sub2api#2863, 2026-05), also with `code: null`
 * (lidge-jun/opencodex#2269, 2026-08).
 */
const unreadable = /encrypted content .{0,300}could not be (?:verified|decrypted|parsed)/i

/** Whether a host refused the request because it cannot read the encrypted content in it. Another host may. */
export const isUnreadable = ({ reason, code, detail }: HostFailed): boolean =>
  code === "invalid_encrypted_content" || (reason === "request" && unreadable.test(detail ?? ""))

/**
 * What refusals leave of the models of a plan. A request that a host finds at fault is refused by the model's other
 * hosts too, and they are not tried. Where the prompt is too long, those with a longer context are. Where the host
 * refused it for another reason of its own (`HostRefusal`), others are until a second one refuses it. Something
 * encrypted that it could not read says nothing of others. Other models are tried after any failure.
 */
export class RefusedModels {
  private models: Map<string, Left> | undefined

  add(host: Host, failure: HostFailed): void {
    if (failure.reason !== "request" || isUnreadable(failure)) return
    this.models ??= new Map()
    const before = this.models.get(host.model) ?? untouched
    this.models.set(host.model, leftAfter(before, host, refusalOf(failure)))
  }

  has(host: Host): boolean {
    const left = this.models?.get(host.model)
    return left !== undefined && (host.contextLength <= left.longerThan || left.refusesToo(host))
  }
}

const untouched: Left = { longerThan: 0, isRefused: false, refusesToo: () => false }

const leftAfter = (before: Left, host: Host, refusal: HostRefusal | undefined): Left => {
  if (refusal === "context_length_exceeded")
    return { ...before, longerThan: Math.max(before.longerThan, host.contextLength) }
  if (refusal === undefined || before.isRefused) return { ...before, longerThan: Number.POSITIVE_INFINITY }
  return { ...before, isRefused: true, refusesToo: (other) => isAlike(other, host, refusal) }
}

/** Azure's filters belong to a deployment; everything else is the same for all models of a provider's protocol. */
const isAlike = (one: Host, other: Host, refusal: HostRefusal): boolean =>
  one.provider === other.provider &&
  one.api === other.api &&
  (refusal !== "content_policy_violation" || one.upstreamModel === other.upstreamModel)
