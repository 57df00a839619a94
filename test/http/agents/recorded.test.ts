/**
 * Requests as agents sent them, to a host of each protocol, and on from there: the host calls tools of the agent, gets their results,
 * and ends with a text. They are skipped where the recordings are missing; `constructs.test.ts` has cases of our own.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import type { JsonObject } from "../../../src/domain/Json.ts"
import { line } from "../../support/agents/AgentHost.ts"
import { agentForms, type FormName, type Keeps } from "../../support/agents/forms.ts"
import { type HostName, hostNames } from "../../support/agents/hosts.ts"
import { play, type Step } from "../../support/agents/play.ts"
import { type AgentScene, agentScene } from "../../support/agents/scene.ts"
import { objectsIn, textIn } from "../../support/forms/script.ts"
import { type RecordedRequest, recordedRequests } from "../../support/recordings.ts"

const calls = (name: string, input: JsonObject | string, namespace?: string): Step => ({
  calls: [
    {
      kind: typeof input === "string" ? "custom" : "function",
      name,
      input,
      ...(namespace === undefined ? {} : { namespace }),
    },
  ],
})

interface Row {
  /** What the agent keeps of reasoning. */
  readonly keeps: Keeps
  /** How many tools the host is offered. */
  readonly tools: number
  readonly steps: ReadonlyArray<Step>
  /** `X-GW-Dropped` by host. */
  readonly dropped: Readonly<Record<HostName, string>>
}

const nothing: Row["dropped"] = {
  responses: "",
  chat: "",
  "strict chat": "",
  messages: "",
  gemini: "",
  converse: "",
  cohere: "",
  ollama: "",
}

const file = "/home/user/project/notes.txt"

const rows: Readonly<Record<string, Row>> = {
  "cline-chat": {
    keeps: "reasoning_content",
    tools: 25,
    steps: [calls("read_files", { files: [{ path: file }] }), calls("editor", { path: file, new_text: "x" })],
    dropped: nothing,
  },
  "opencode-chat": {
    keeps: "nothing",
    tools: 10,
    steps: [calls("read", { filePath: file }), calls("write", { filePath: file, content: "x" })],
    dropped: nothing,
  },
  "opencode-messages": {
    keeps: "items",
    tools: 10,
    steps: [calls("read", { filePath: file }), calls("write", { filePath: file, content: "x" })],
    dropped: nothing,
  },
  "pi-chat": {
    keeps: "reasoning",
    tools: 4,
    steps: [calls("read", { path: file }), calls("write", { path: file, content: "x" })],
    dropped: { ...nothing, messages: "reasoning_effort", converse: "reasoning_effort" },
  },
  "qwen-chat": {
    keeps: "reasoning_content",
    tools: 14,
    steps: [calls("read_file", { file_path: file }), calls("write_file", { file_path: file, content: "x" })],
    dropped: nothing,
  },
}

/** Reasoning that the request has, as the host gets it. */
const thoughtsIn = (form: FormName, body: JsonObject, host: HostName): ReadonlyArray<string> => {
  if (form === "responses") {
    return objectsIn(body["input"])
      .filter(({ type }) => type === "reasoning")
      .flatMap(({ summary, encrypted_content: data }) => {
        const text = textIn(objectsIn(summary)[0]?.["text"])
        if (host === "responses") return [line.thought(text, textIn(data))]
        if (host === "chat") return [line.thought(text, ""), line.thought("", textIn(data))]
        return host === "ollama" ? [line.thought(text, "")] : []
      })
  }
  if (host !== "chat" && host !== "ollama") return []
  return objectsIn(body["messages"]).flatMap((message) => {
    const text = textIn(message["reasoning"] ?? message["reasoning_content"])
    return text === "" ? [] : [line.thought(text, "")]
  })
}

const formOf = ({ path }: RecordedRequest): FormName =>
  path.endsWith("/responses") ? "responses" : path.endsWith("/messages") ? "messages" : "chat"

const found = recordedRequests()

describe.skipIf(found.length === 0)("recorded requests of agents", () => {
  let scene: AgentScene
  beforeAll(async () => {
    scene = await agentScene()
  })
  afterAll(() => scene.stop())

  test("each has a row", () => {
    expect(found.map(({ name }) => name)).toEqual(Object.keys(rows).toSorted())
  })

  for (const recorded of found) {
    const row = rows[recorded.name]
    if (row === undefined) continue
    const form = formOf(recorded)
    const { headers, body } = recorded
    describe(recorded.name, () => {
      test(`${row.tools} tools`, () => expect(agentForms[form].tools(body)).toHaveLength(row.tools))
      for (const host of hostNames) {
        const expected = { dropped: row.dropped[host], thoughts: thoughtsIn(form, body, host) }
        for (const isStream of [false, true])
          test(`${host}, ${isStream ? "streamed" : "whole"}`, () =>
            play(scene, { name: recorded.name, form, headers, body, ...row }, host, isStream, expected))
      }
    })
  }
})
