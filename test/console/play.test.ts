/** What the playground reads and sends. */
import { describe, expect, test } from "bun:test"
import { hasContent, noAnswer, withChunk } from "../../console/lib/answer.ts"
import { bodyOf, emptyPlay, errorsOf, languages, snippet } from "../../console/lib/playForm.ts"
import { EventCutter } from "../../console/lib/sse.ts"

const chunk = (delta: object, more: object = {}) =>
  `data: ${JSON.stringify({ provider: "Echo", choices: [{ index: 0, delta, finish_reason: null }], ...more })}\n\n`

const stream = [
  ": headgate processing\n\n",
  chunk({ role: "assistant", content: "Hé" }),
  chunk({ reasoning: "hm" }),
  chunk({ content: "llo" }),
  chunk({ tool_calls: [{ index: 0, id: "a", function: { name: "weather", arguments: '{"ci' } }] }),
  chunk({ tool_calls: [{ index: 0, function: { arguments: 'ty":1}' } }] }),
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage: { prompt_tokens: 3, completion_tokens: 2, cost: 0.000006 } })}\n\n`,
  "data: [DONE]\n\n",
].join("")

describe("a stream", () => {
  test("comes to the same answer however it is cut", () => {
    const whole = [...new EventCutter().push(stream)].reduce(withChunk, noAnswer)
    expect(whole).toEqual({
      text: "Héllo",
      reasoning: "hm",
      calls: [{ name: "weather", arguments: '{"city":1}' }],
      finish: "stop",
      provider: "Echo",
      tokensIn: 3,
      tokensOut: 2,
      cost: 0.000006,
      error: null,
    })
    for (let size = 1; size < 40; size += 1) {
      const cutter = new EventCutter()
      let answer = noAnswer
      for (let at = 0; at < stream.length; at += size) {
        for (const data of cutter.push(stream.slice(at, at + size))) answer = withChunk(answer, data)
      }
      expect(answer).toEqual(whole)
    }
  })

  test("a role alone is no content, and an error in the stream is told", () => {
    expect(hasContent(withChunk(noAnswer, '{"choices":[{"delta":{"role":"assistant","content":""}}]}'))).toBe(false)
    const broken = withChunk(
      noAnswer,
      '{"error":{"message":"Provider returned error."},"choices":[{"delta":{"content":""}}]}',
    )
    expect(broken.error).toBe("Provider returned error.")
  })

  test.each(["[DONE]", "null", "1", "{", '{"choices":{}}', '{"choices":[null]}', '{"choices":[{"delta":[]}]}'])(
    "%p changes nothing",
    (data) => {
      expect(withChunk(noAnswer, data)).toEqual(noAnswer)
    },
  )
})

describe("what is sent", () => {
  test("a message, and nothing that was not said", () => {
    expect(bodyOf({ ...emptyPlay, message: "Hi", maxTokens: "" }, "a/b")).toEqual({
      model: "a/b",
      messages: [{ role: "user", content: "Hi" }],
      stream: true,
    })
  })

  test("images stand behind the text, as data URLs", () => {
    const images = [{ name: "x.png", url: "data:image/png;base64,AAAA" }]
    const body = bodyOf({ ...emptyPlay, message: "See", images }, "a/b")
    expect(body["messages"]).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "See" },
          { type: "image_url", image_url: { url: images[0]?.url } },
        ],
      },
    ])
  })

  test.each([
    [{ message: "" }, "message"],
    [{ message: "x", tools: "{}" }, "tools"],
    [{ message: "x", tools: "[" }, "tools"],
    [{ message: "x", temperature: "3" }, "temperature"],
    [{ message: "x", maxTokens: "0" }, "maxTokens"],
  ])("%p is told before it is sent", (typed, field) => {
    expect(Object.keys(errorsOf({ ...emptyPlay, ...typed }))).toEqual([field])
  })

  test.each([...languages])("the lines in %s name a variable for the key, and cut a long image", (language) => {
    const body = bodyOf(
      { ...emptyPlay, message: "it's", images: [{ name: "x", url: `data:image/png;base64,${"A".repeat(500)}` }] },
      "a/b",
    )
    const lines = snippet(language, "http://gateway.example/api/v1", body)
    expect(lines).toContain("HEADGATE_API_KEY")
    expect(lines).not.toContain("A".repeat(100))
  })

  test("a quote in a message does not end the argument of curl", () => {
    const lines = snippet("curl", "http://g/api/v1", bodyOf({ ...emptyPlay, message: "it's $HOME" }, "a/b"))
    const { stdout } = Bun.spawnSync(["bash", "-c", lines.replace("curl", "printf '%s\\n'")])
    expect(stdout.toString()).toContain("it's $HOME")
  })
})
