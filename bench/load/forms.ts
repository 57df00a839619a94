/** Callers of each client form: where they ask, what they send, and loads of them. */
import { type Kind, measured, saturated } from "./loads.ts"
import { percentile } from "./report.ts"
import type { Address } from "./roles.ts"
import { models, requestBody } from "./script.ts"
import type { UnaryLoad } from "./unary.ts"

/** The members of a caller's body in the chat form. */
const { model: _, messages, max_tokens, ...parameters } = JSON.parse(requestBody("bench/brisk", false))
const [system, ...said] = messages

/** Path and body of each form, which all say the same, and what an event with a text chunk has. */
export const forms = {
  chat: {
    path: "/chat/completions",
    body: { messages, max_tokens, ...parameters },
    event: '"delta":{',
  },
  messages: {
    path: "/messages",
    body: { system: system.content, messages: said, max_tokens, ...parameters },
    event: '"text_delta"',
  },
  responses: {
    path: "/responses",
    body: { instructions: system.content, input: said, max_output_tokens: max_tokens, ...parameters },
    event: '"response.output_text.delta"',
  },
  completions: {
    path: "/completions",
    body: { prompt: said.map(({ content }: { content: string }) => content).join("\n"), max_tokens, ...parameters },
    event: '"text":',
  },
} as const
export type Form = keyof typeof forms

/** How the host streams, whichever form and model is asked for here. */
const { chunks, intervalMs } = models["bench/brisk"]

/** `target` in this form, and the body of a request for `model`. */
const requestTo = ({ url, key }: Address, form: Form, model: string, stream: boolean) => ({
  url: url.replace("/chat/completions", forms[form].path),
  key,
  body: JSON.stringify({ model, ...forms[form].body, ...(stream ? { stream } : {}) }),
})

/** Non-streaming requests for `model` as fast as they are answered. */
export const saturatedInForm = (
  name: string,
  form: Form,
  model: string,
  load: Pick<UnaryLoad, "callers" | "seconds" | "folder">,
): Kind => ({
  name,
  run: (target) => {
    const { url, key, body } = requestTo(target, form, model, false)
    return saturated(name, { model: "bench/brisk", body, ...load }).run({ ...target, url, key })
  },
})

/** One stream, read to its end. Throws where it has fewer chunks than the host sends. */
const oneStream = async (target: Address, form: Form, model: string): Promise<number> => {
  const { url, key, body } = requestTo(target, form, model, true)
  const began = performance.now()
  const response = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${key}` },
    body,
  })
  const headMs = performance.now() - began
  const lines = (await response.text()).split("\n")
  const found = lines.filter((line) => line.startsWith("data: {") && line.includes(forms[form].event)).length
  if (response.status === 200 && found >= chunks) return headMs
  throw new Error(`${response.status}, ${found} chunks: ${lines.slice(-5).join("\n")}`)
}

/** Streams of `model` at once, their starts spread over the length of one: what a stream costs to open and close is in its chunks. */
export const chunksInForm = (name: string, form: Form, model: string, callers: number): Kind => ({
  name,
  run: (target) =>
    measured(target, async () => {
      const began = performance.now()
      const headsMs = await Promise.all(
        Array.from({ length: callers }, async (_, index) => {
          await Bun.sleep((index * chunks * intervalMs) / callers)
          return oneStream(target, form, model)
        }),
      )
      const count = callers * chunks
      const perSecond = (count * 1000) / (performance.now() - began)
      return { count, perSecond, p50Ms: percentile(headsMs, 50), p99Ms: percentile(headsMs, 99) }
    }),
})
