/** Scripted hosts on loopback, for ordinary and for faulty behaviour. */

export interface ScriptedHost {
  /** For `base_url`: `http://127.0.0.1:<port>/v1`. */
  readonly url: string
  /** Every request so far, or since `forget`, with its parsed body. */
  readonly calls: ReadonlyArray<{ readonly request: Request; readonly body: Record<string, unknown> }>
  /** Empties `calls`, for tests of thousands of requests. */
  readonly forget: () => void
  readonly stop: () => Promise<void>
}

/** A host that answers `POST /v1/chat/completions` by `answer`. */
export const scriptedHost = (
  answer: (body: Record<string, unknown>, request: Request, call: number) => Response | Promise<Response>,
): ScriptedHost => {
  const calls: Array<{ request: Request; body: Record<string, unknown> }> = []
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    fetch: async (request) => {
      const body = (await request.json()) as Record<string, unknown>
      calls.push({ request, body })
      return answer(body, request, calls.length)
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}/v1`,
    calls,
    forget: () => {
      calls.length = 0
    },
    stop: () => server.stop(true),
  }
}

/** A whole answer in the chat form. */
export const wholeAnswer = (
  content: string,
  usage: Record<string, unknown> = { prompt_tokens: 10, completion_tokens: 5 },
): Response =>
  Response.json({
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1,
    model: "upstream",
    choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
    usage,
  })

export const chunkOf = (choice: Record<string, unknown>, more: Record<string, unknown> = {}): string =>
  JSON.stringify({
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1,
    model: "upstream",
    choices: [{ index: 0, ...choice }],
    ...more,
  })

/** A streamed answer: a chunk a word, finish, usage, `[DONE]`. */
export const streamAnswer = (
  words: ReadonlyArray<string>,
  usage: Record<string, unknown> = { prompt_tokens: 10, completion_tokens: 5 },
): Response =>
  sse([
    ...words.map((content) => chunkOf({ delta: { content }, finish_reason: null })),
    chunkOf({ delta: {}, finish_reason: "stop" }),
    JSON.stringify({
      id: "chatcmpl-1",
      object: "chat.completion.chunk",
      created: 1,
      model: "upstream",
      choices: [],
      usage,
    }),
    "[DONE]",
  ])

/** Events with these data lines, in one piece. */
export const sse = (data: ReadonlyArray<string>): Response =>
  new Response(data.map((line) => `data: ${line}\n\n`).join(""), { headers: { "content-type": "text/event-stream" } })

/** Configuration with one model `acme/small`, served by these hosts in this order at these prices (USD per token). */
export const configFor = (
  hosts: Record<
    string,
    { readonly url: string; readonly prompt?: string; readonly completion?: string; readonly webSearch?: string }
  >,
  more: Record<string, unknown> = {},
) => ({
  providers: Object.fromEntries(
    Object.entries(hosts).map(([slug, { url }]) => [
      slug,
      { plugin: "openai-compatible", base_url: url, network: "private" as const, api_key: `key-of-${slug}` },
    ]),
  ),
  models: [
    {
      id: "acme/small",
      name: "Acme Small",
      created: 1_760_000_000,
      context_length: 8192,
      hosts: Object.entries(hosts).map(([provider, { prompt = "0.000001", completion = "0.000002", webSearch }]) => ({
        provider,
        model: "upstream",
        pricing: { prompt, completion, ...(webSearch === undefined ? {} : { web_search: webSearch }) },
        max_completion_tokens: 4096,
      })),
    },
  ],
  ...more,
})

export interface HeldStream {
  /** The answer to give; it stays open until the test says otherwise. */
  readonly response: Response
  /** Sends one event with this data line. */
  readonly send: (data: string) => void
  /** Ends the body normally. */
  readonly close: () => void
  /** Resolves when the reader of the answer has left. */
  readonly left: Promise<void>
}

/** A streamed answer whose events the test sends one by one. `request`: the request that it answers. */
export const heldStream = (request: Request): HeldStream => {
  const encoder = new TextEncoder()
  const left = Promise.withResolvers<void>()
  const out: { controller?: ReadableStreamDefaultController<Uint8Array> } = {}
  request.signal.addEventListener("abort", () => left.resolve(), { once: true })
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      out.controller = controller
    },
    cancel: () => left.resolve(),
  })
  return {
    response: new Response(body, { headers: { "content-type": "text/event-stream" } }),
    send: (data) => out.controller?.enqueue(encoder.encode(`data: ${data}\n\n`)),
    close: () => out.controller?.close(),
    left: left.promise,
  }
}
