/** What is asked in the playground: the body of a chat completion, and lines that send it from elsewhere. */

export interface PlayForm {
  readonly system: string
  readonly message: string
  /** Data URLs. */
  readonly images: ReadonlyArray<{ readonly name: string; readonly url: string }>
  /** JSON; "": none. */
  readonly tools: string
  readonly temperature: string
  readonly maxTokens: string
  readonly effort: "" | "minimal" | "low" | "medium" | "high"
}

export const emptyPlay: PlayForm = {
  system: "",
  message: "",
  images: [],
  tools: "",
  temperature: "",
  maxTokens: "1024",
  effort: "",
}

export type PlayErrors = Readonly<Partial<Record<keyof PlayForm, string>>>

const toolsIn = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export const errorsOf = (form: PlayForm): PlayErrors => {
  const errors: Partial<Record<keyof PlayForm, string>> = {}
  if (form.message.trim() === "" && form.images.length === 0) errors.message = "Write something to the model."
  if (form.tools.trim() !== "" && !Array.isArray(toolsIn(form.tools))) errors.tools = "A JSON list of tools."
  if (form.temperature.trim() !== "" && !/^[01](\.\d+)?$|^2(\.0+)?$/.test(form.temperature.trim())) {
    errors.temperature = "A number from 0 to 2."
  }
  if (form.maxTokens.trim() !== "" && !/^[1-9]\d*$/.test(form.maxTokens.trim())) errors.maxTokens = "A whole number."
  return errors
}

export const bodyOf = (form: PlayForm, model: string): Readonly<Record<string, unknown>> => {
  const content =
    form.images.length === 0
      ? form.message
      : [
          ...(form.message === "" ? [] : [{ type: "text", text: form.message }]),
          ...form.images.map(({ url }) => ({ type: "image_url", image_url: { url } })),
        ]
  return {
    model,
    messages: [
      ...(form.system.trim() === "" ? [] : [{ role: "system", content: form.system }]),
      { role: "user", content },
    ],
    ...(form.tools.trim() === "" ? {} : { tools: toolsIn(form.tools) }),
    ...(form.temperature.trim() === "" ? {} : { temperature: Number(form.temperature) }),
    ...(form.maxTokens.trim() === "" ? {} : { max_tokens: Number(form.maxTokens) }),
    ...(form.effort === "" ? {} : { reasoning: { effort: form.effort } }),
    stream: true,
  }
}

export const languages = ["curl", "Python", "TypeScript"] as const
export type Language = (typeof languages)[number]

/** Long data URLs are cut: whoever copies the lines has the file. */
const shortened = (body: unknown): string =>
  JSON.stringify(
    body,
    (_, value) => (typeof value === "string" && value.startsWith("data:") ? `${value.slice(0, 40)}…` : value),
    2,
  )

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** A program that sends `body`. The key is a variable, never the key. */
export const snippet = (language: Language, base: string, body: Readonly<Record<string, unknown>>): string => {
  if (language === "curl") {
    return [
      `curl ${base}/chat/completions \\`,
      `  -H "Authorization: Bearer $HEADGATE_API_KEY" -H "Content-Type: application/json" \\`,
      `  -d ${quoted(shortened(body))}`,
    ].join("\n")
  }
  if (language === "Python") {
    return [
      "import json, os",
      "from openai import OpenAI",
      "",
      `client = OpenAI(base_url=${JSON.stringify(base)}, api_key=os.environ["HEADGATE_API_KEY"])`,
      `body = json.loads(r"""${shortened(body)}""")`,
      "for chunk in client.chat.completions.create(**body):",
      '    print(chunk.choices[0].delta.content or "", end="", flush=True)',
    ].join("\n")
  }
  return [
    'import OpenAI from "openai"',
    "",
    `const client = new OpenAI({ baseURL: ${JSON.stringify(base)}, apiKey: process.env.HEADGATE_API_KEY })`,
    `const stream = await client.chat.completions.create(${shortened(body)})`,
    'for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta?.content ?? "")',
  ].join("\n")
}
