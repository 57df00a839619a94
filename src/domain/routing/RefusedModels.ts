/** Which hosts of a model are still tried after one of them found the request at fault. Pure. See docs/guarantees.md#g10. */
import type { HostFailed } from "../failures/Failure.ts"
import type { Host } from "../hosts/Host.ts"

/**
 * Codes: OpenAI and compatible APIs, llama.cpp (`exceed_context_size_error`), Anthropic (`request_too_large`), GitHub
 * (`tokens_limit_reached`), Z.AI (1261).
 */
const codes =
  /context_?(?:length|window|size)|(?:prompt|input|string|request)_?too_?(?:long|large)|tokens?_limit_(?:reached|exceeded)|^1261$/i

/** Vendors' messages, from their SDKs, source code and bodies that users quote (2025 and 2026). */
const words = new RegExp(
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
    // Hugging Face's servers, Together: "`inputs` tokens + `max_new_tokens` must be <= 8193".
    String.raw`inputs. tokens \+ .max_new_tokens. must be`,
    // llama.cpp.
    String.raw`input \(\d+ tokens\) is too large`,
  ].join("|"),
  "i",
)

/** Whether a host refused the request because the prompt is too long for it. */
export const isTooLong = ({ reason, code, detail }: HostFailed): boolean =>
  reason === "request" && (codes.test(code ?? "") || words.test(detail ?? ""))

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
 * What refusals leave of the models of a plan. A request that one host refuses is refused by the model's other hosts
 * too, and they are not tried: but where the prompt was too long, one with a longer context may take it, and where
 * something encrypted could not be read, any other one. Other models are tried after any failure.
 */
export class RefusedModels {
  /** By model: the context length, in tokens, that a host must exceed to be tried. */
  private longest: Map<string, number> | undefined

  add(host: Host, failure: HostFailed): void {
    if (failure.reason !== "request" || isUnreadable(failure)) return
    const needed = isTooLong(failure) ? host.contextLength : Number.POSITIVE_INFINITY
    this.longest ??= new Map()
    this.longest.set(host.model, Math.max(needed, this.longest.get(host.model) ?? 0))
  }

  has({ model, contextLength }: Host): boolean {
    return contextLength <= (this.longest?.get(model) ?? 0)
  }
}
