/** Libraries in this process: the AI SDK with its OpenRouter provider, and Google's own client. */
import { type GenerateContentResponse, GoogleGenAI, type Part as GooglePart } from "@google/genai"
import { createOpenRouter } from "@openrouter/ai-sdk-provider"
import { isStepCount, jsonSchema, streamText, tool } from "ai"
import { type Keeps, type LiveScene, liveModel, type Step } from "./liveScene.ts"
import type { LiveHost } from "./orderedHosts.ts"

/** A session of a library. It returns what went wrong besides what the hosts saw. */
export type LibrarySession = (scene: LiveScene, host: LiveHost) => Promise<ReadonlyArray<string>>

const look = { call: { name: "look", input: { path: "hello.txt" } } }
const write = { call: { name: "write", input: { path: "out.txt", text: "Written." } } }
const end: Step = { parts: ["thought", { text: "That is done." }] }
const plain: ReadonlyArray<Step> = [
  { parts: ["thought", { text: "I shall look." }, look] },
  { parts: ["thought", write] },
  end,
]
const interleaved: ReadonlyArray<Step> = [
  { parts: ["thought", { text: "I shall look." }, "thought", look] },
  { parts: ["thought", look, "thought", write] },
  end,
]

const isDone = (text: string): ReadonlyArray<string> =>
  text.startsWith("That is done.") ? [] : [`the last text is ${JSON.stringify(text)}`]
const isWritten = (written: string): ReadonlyArray<string> => (written === "Written." ? [] : ["nothing was written"])

const path = { type: "string" } as const
const schemas = {
  look: { type: "object", properties: { path }, required: ["path"] },
  write: { type: "object", properties: { path, text: path }, required: ["path", "text"] },
} as const

const aiSdk =
  (steps: ReadonlyArray<Step>): LibrarySession =>
  async (scene, host) => {
    scene.play(steps)
    const router = createOpenRouter({ baseURL: `${scene.origin}/api/v1`, apiKey: scene.key })
    let written = ""
    const failures: Array<string> = []
    const answer = streamText({
      model: router(liveModel(host), { reasoning: { effort: "high" } }),
      tools: {
        look: tool({ inputSchema: jsonSchema<{ path: string }>(schemas.look), execute: async () => "Hello." }),
        write: tool({
          inputSchema: jsonSchema<{ path: string; text: string }>(schemas.write),
          execute: async ({ text }) => {
            written = text
            return "ok"
          },
        }),
      },
      stopWhen: isStepCount(5),
      prompt: "Read hello.txt, then write out.txt.",
      maxRetries: 0,
      onError: ({ error }) => {
        failures.push(String(error))
      },
    })
    const text = await answer.text.then(isDone, (cause) => [String(cause)])
    return [...failures, ...text, ...isWritten(written)]
  }

const clientOf = (scene: LiveScene): GoogleGenAI =>
  new GoogleGenAI({ apiKey: scene.key, httpOptions: { baseUrl: `${scene.origin}/api` } })

const declarations = [
  { name: "look", description: "Reads a file", parametersJsonSchema: schemas.look },
  { name: "write", description: "Writes a file", parametersJsonSchema: schemas.write },
]

const thinking = { thinkingConfig: { includeThoughts: true, thinkingBudget: 4000 } }
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

/** A chat, whose history the library keeps. */
const googleTools =
  (steps: ReadonlyArray<Step>, isStream: boolean): LibrarySession =>
  async (scene, host) => {
    scene.play(steps)
    const chat = clientOf(scene).chats.create({
      model: liveModel(host),
      config: { ...thinking, tools: [{ functionDeclarations: declarations }] },
    })
    const answered = async (message: string | Array<GooglePart>): Promise<ReadonlyArray<GenerateContentResponse>> =>
      isStream ? Array.fromAsync(await chat.sendMessageStream({ message })) : [await chat.sendMessage({ message })]
    let written = ""
    let message: string | Array<GooglePart> = "Read hello.txt, then write out.txt."
    for (let turn = 0; turn < 5; turn += 1) {
      const answers = await answered(message)
      const calls = answers.flatMap(({ functionCalls }) => functionCalls ?? [])
      if (calls.length === 0) return [...isDone(answers.map(({ text }) => text ?? "").join("")), ...isWritten(written)]
      for (const { name, args } of calls) if (name === "write") written = String(args?.["text"])
      message = calls.map(({ id, name }) => ({
        functionResponse: { ...(id === undefined ? {} : { id }), name: name ?? "", response: { output: "ok" } },
      }))
    }
    return ["the session does not end"]
  }

/** One answer, which thinks aloud; `isSeen`: with an image. */
const googleAnswer =
  (isStream: boolean, isSeen: boolean): LibrarySession =>
  async (scene, host) => {
    scene.play([end])
    const request = {
      model: liveModel(host),
      contents: [
        {
          role: "user",
          parts: [{ text: "What is it?" }, ...(isSeen ? [{ inlineData: { mimeType: "image/png", data: pixel } }] : [])],
        },
      ],
      // Hosts take a request without tools for one of a title.
      config: { ...thinking, tools: [{ functionDeclarations: declarations }] },
    }
    const { models } = clientOf(scene)
    const answers = isStream
      ? await Array.fromAsync(await models.generateContentStream(request))
      : [await models.generateContent(request)]
    const parts = answers.flatMap(({ candidates }) => candidates?.[0]?.content?.parts ?? [])
    const thought = parts.flatMap(({ text, thought: is }) => (is === true ? [text ?? ""] : [])).join("")
    const usage = answers.at(-1)?.usageMetadata
    return [
      ...isDone(answers.map(({ text }) => text ?? "").join("")),
      ...(thought.startsWith("Thought ") ? [] : ["no thought is told"]),
      ...(usage?.promptTokenCount === 1000 ? [] : [`usage is ${JSON.stringify(usage)}`]),
      ...(isSeen && !JSON.stringify(scene.asked.at(-1)?.body).includes(pixel) ? ["the image is not there"] : []),
    ]
  }

interface Library {
  readonly keeps: Keeps
  readonly sessions: Readonly<Record<string, LibrarySession>>
}

export const libraries: Readonly<Record<string, Library>> = {
  "ai-sdk-openrouter": {
    keeps: "signed",
    sessions: { streamed: aiSdk(plain), interleaved: aiSdk(interleaved) },
  },
  "google-genai": {
    keeps: "everything",
    sessions: {
      whole: googleAnswer(false, false),
      streamed: googleAnswer(true, false),
      image: googleAnswer(false, true),
      tools: googleTools(interleaved, false),
      "tools, streamed": googleTools(interleaved, true),
    },
  },
}

/** What went wrong with a session of a library. */
export const playLibrary = async (
  scene: LiveScene,
  { keeps }: Library,
  session: LibrarySession,
  host: LiveHost,
): Promise<ReadonlyArray<string>> => {
  scene.start({ isSummary: () => false, keeps })
  const wrong = await session(scene, host).catch((cause: unknown) => [String(cause)])
  const refused = scene.passed.filter(({ status }) => status >= 400)
  return [
    ...scene.wrong(),
    ...wrong,
    ...refused.map(({ path: at, status, error }) => `${at}: ${status} ${error.slice(0, 300)}`),
  ]
}
