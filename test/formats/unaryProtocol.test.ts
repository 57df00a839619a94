/** The protocol that every operation without streams has of itself, with one that the gateway does not have. */
import { describe, expect, test } from "bun:test"
import * as Either from "effect/Either"
import { HostFailed } from "../../src/domain/failures/Failure.ts"
import type { JsonObject } from "../../src/domain/json/json.ts"
import { sharedMembers, type UnaryAnswer, type UnaryOperation } from "../../src/domain/request/Operation.ts"
import { noPreferences } from "../../src/domain/request/Preferences.ts"
import { noNeeds, type UnaryRequest } from "../../src/domain/request/request.ts"
import { unaryProtocol } from "../../src/formats/unaryProtocol.ts"
import { expectedOfUnary } from "../../src/plugin/checks/shapes.ts"
import { hostFor } from "../support/recordings/recordings.ts"

interface Text extends JsonObject {
  readonly text: string
}

interface Labels extends UnaryAnswer {
  readonly labels: ReadonlyArray<string>
}

const labelling: UnaryOperation<Text, Labels> = {
  path: "/label",
  gives: new Set(["labels"]),
  inability: "it gives no labels",
  promptMember: "text",
  members: new Set([...sharedMembers, "text", "top_n", "language"]),
  madeHere: new Set(["top_n"]),
  answerType: "a list of labels",
  answerMember: "labels",
  answerRule: ({ text }) => `are those of ${text}`,
  isAnswer: (answer, _): answer is Labels => Array.isArray(answer["labels"]),
  sample: { text: "HEADGATE-FIRST" },
  optional: { language: "fr" },
}

const request: UnaryRequest<"label", Text> = {
  operation: "label",
  routing: { models: ["acme/labels"], preferences: noPreferences, parameters: [], needs: noNeeds },
  bounds: {
    ...{ promptBytes: 4, mediaBytes: 0, mediaParts: 0, textBytes: 4, messages: 1, images: 0 },
    ...{ searches: 0, maxTokens: 0, choices: 1 },
  },
  stream: false,
  maxTokens: 0,
  payload: { text: "fox", top_n: 2, language: "fr", user: "u" },
}

const head = { status: 200, headers: new Headers() }
const encode = (...quirks: Parameters<typeof unaryProtocol> extends [unknown, ...infer Rest] ? Rest : never) =>
  Either.getOrThrow(unaryProtocol(labelling, ...quirks).encode(request, hostFor("upstream")))
const decode = (body: unknown) => unaryProtocol(labelling).decode(head, body, request)

describe("a request", () => {
  test("goes to the operation's path, with all members and the model", () => {
    expect(encode()).toMatchObject({ path: "/label", dropped: [] })
    expect(encode().body).toBe('{"text":"fox","top_n":2,"language":"fr","user":"u","model":"upstream"}')
  })

  test("lacks what the host refuses, and names of it what the gateway does not do itself", () => {
    const { body, dropped } = encode({ drop: ["top_n", "language"] })
    expect(body).toBe('{"text":"fox","user":"u","model":"upstream"}')
    expect(dropped).toEqual(["language"])
  })

  test("has the host's own path, names and words", () => {
    const names = { language: "lang" }
    const { path, body } = encode({}, { path: (model) => `/of/${model}`, names, write: () => ({ text: ["fox"] }) })
    expect(path).toBe("/of/upstream")
    expect(body).toBe('{"text":["fox"],"top_n":2,"lang":"fr","user":"u","model":"upstream"}')
  })
})

describe("an answer", () => {
  test("has its usage, whose output is none", () => {
    const answer = decode({ labels: ["animal"], usage: { total_tokens: 3 }, id: "x" })
    expect(answer).toEqual({ labels: ["animal"], id: "x", usage: { prompt_tokens: 3, completion_tokens: 0 } })
  })

  test("without a usage has none", () => {
    expect(decode({ labels: [] })).toEqual({ labels: [] })
  })

  test.each([[{}], ["text"], [null], [[]]])("is malformed: %j", (body) => {
    expect(decode(body)).toMatchObject({ reason: "malformed" })
  })

  test("that reports an error with status 200 is that error", () => {
    const failed = decode({ error: { message: "slow down", code: 429 } })
    expect(failed).toBeInstanceOf(HostFailed)
    expect(failed).toMatchObject({ reason: "rate-limited", status: 429 })
  })
})

test("a plugin is told what its answer must be", () => {
  expect(expectedOfUnary(labelling, "text", request.payload)).toBe("a list of labels or a HostFailed, not a text")
  expect(expectedOfUnary(labelling, { labels: 1 }, request.payload)).toBe(
    "an answer whose labels are those of fox, not a number",
  )
  expect(expectedOfUnary(labelling, { labels: [], usage: 1 }, request.payload)).toBe(
    "an answer whose usage is an object, not a number",
  )
  expect(expectedOfUnary(labelling, { labels: [] }, request.payload)).toBeUndefined()
})
