/** Texts and media reach hosts in the order in which a client gives them, or what is lost is named. */
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import * as Either from "effect/Either"
import * as fc from "effect/FastCheck"
import { chatProtocol } from "../../../src/formats/chat/chatHost.ts"
import { generateContentProtocol } from "../../../src/formats/generateContent/generateContentHost.ts"
import { chatUser, clients } from "../../support/formats/conversationClients.ts"
import { answered, encodedFor, question, sentTo } from "../../support/formats/conversationTurns.ts"
import { anthropic } from "../../support/formats/families/anthropic.ts"
import { families } from "../../support/formats/families/families.ts"
import { google } from "../../support/formats/families/google.ts"
import { openai } from "../../support/formats/families/openai.ts"
import {
  type ClientName,
  chatImage,
  chatText,
  clientNames,
  isImage,
  isText,
  kindOf,
  type MarkKind,
  marksIn,
  marksOf,
  messagesImage,
  resultsOf,
  userTurn,
} from "../../support/formats/marks.ts"

setDefaultTimeout(1_800_000)

const seed = 20_261_128
const chatHost = { protocol: chatProtocol(), model: "m" }
const strictHost = { protocol: chatProtocol({ strict: true }), model: "m" }
const olderGoogle = { protocol: generateContentProtocol(), model: "gemini-2.5-flash" }
const hosts = { ...families, chatHost, strictHost, olderGoogle }
type Host = (typeof hosts)[keyof typeof hosts]

const isNative = (name: ClientName, { protocol }: Host): boolean => protocol.native?.form === clients[name].format.name

describe.each(Object.entries(hosts))("what a host of %s is given", (_, host) => {
  test.each(clientNames)("texts, images, files and sound of the user in order, from a %s client", (name) => {
    const kinds: ReadonlyArray<MarkKind> = ["TXT", "IMG", "PDF", ...(name === "messages" ? [] : (["SND"] as const))]
    const takesNoSound = host === anthropic || (host === openai && !isNative(name, host))
    fc.assert(
      fc.property(marksOf(kinds), (marks) => {
        const given = encodedFor(host, clients[name], [userTurn(name, marks)])
        const sound = marks.findIndex((mark) => kindOf(mark) === "SND")
        if (takesNoSound && sound !== -1) {
          const { path, reason } = Either.getOrThrow(Either.flip(given))
          const inTurn = `${clients[name].format.prompt}[0]`
          expect(path).toBe(name === "generateContent" ? inTurn : `${inTurn}.content[${sound}]`)
          expect(reason).toBe("this host takes no audio")
        } else {
          const { json, dropped } = Either.getOrThrow(given)
          expect([marksIn(json), dropped]).toEqual([marks, []])
        }
      }),
      { numRuns: 30, seed },
    )
  })

  test.each(clientNames)("texts, images and files of the results of tools in order, from a %s client", (name) => {
    // A host that is asked for reasoning may drop that wish.
    const client = { ...clients[name], ask: { tools: clients[name].ask["tools"] } }
    const said = client.said(answered(anthropic, client, question(client), [call("a"), call("b")], "whole"))
    fc.assert(
      fc.property(marksOf(["TXT", "IMG", "PDF"]), marksOf(["TXT", "IMG", "PDF"], 5), (first, second) => {
        const results = resultsOf(name, [
          ["a", first],
          ["b", second],
        ])
        const { user = chatUser } = client
        const { json, dropped } = sentTo(host, client, [...question(client), ...said, ...results, user("TXT4")])
        expect([marksIn(json), dropped]).toEqual([[...arranged(name, host, first, second), "TXT4"], []])
      }),
      { numRuns: 30, seed },
    )
  })
})

const call = (id: string) => ({ kind: "call", id }) as const

/** How the results of two calls stand at a host. */
const arranged = (name: ClientName, host: Host, ...results: ReadonlyArray<ReadonlyArray<string>>) => {
  const texts = (marks: ReadonlyArray<string>) => marks.filter(isText)
  const media = (marks: ReadonlyArray<string>) => marks.filter((mark) => !isText(mark))
  const apart = (marks: ReadonlyArray<string>) => [...texts(marks), ...media(marks)]
  // Google has the texts of a result apart from its media.
  if (isNative(name, host)) return results.flatMap(host === google || host === olderGoogle ? apart : (marks) => marks)
  // docs/messages.md and docs/providers.md: the files of results follow in a message of the user.
  const isElsewhere = host === chatHost || host === strictHost || host === olderGoogle
  const movesMedia = name === "messages" || name === "generateContent" || isElsewhere
  if (movesMedia) return [...results.flatMap(texts), ...results.flatMap(media)]
  return results.flatMap(host === google ? apart : (marks) => marks)
}

describe.each(Object.entries(hosts))("what a host of %s is given of an earlier answer", (_, host) => {
  test.each(["chat", "messages"] as const)("images, or their place in what is dropped, from a %s client", (name) => {
    const takesImages = host === google || host === olderGoogle || host === chatHost
    fc.assert(
      fc.property(marksOf(["TXT", "IMG"]), (marks) => {
        const images = marks.filter(isImage)
        const made = images.length === 0 ? {} : { images: images.map(chatImage) }
        const blocks = [chatText("TXT9"), ...images.map(messagesImage)]
        const said = { role: "assistant", ...(name === "chat" ? { content: "TXT9", ...made } : { content: blocks }) }
        const { json, dropped } = sentTo(host, clients[name], [chatUser("x"), said, chatUser("y")])
        expect(marksIn(json)).toEqual(["TXT9", ...(takesImages ? images : [])])
        const places = isNative(name, host)
          ? images.map((_, at) => `messages[1].content[${at + 1}]`)
          : ["messages[1].images"]
        expect(dropped.filter((lost) => lost !== "reasoning")).toEqual(takesImages || images.length === 0 ? [] : places)
      }),
      { numRuns: 30, seed },
    )
  })
})

const withoutRefusals = { protocol: chatProtocol({ dropInMessages: ["refusal"] }), model: "m" }

describe.each(Object.entries({ ...hosts, withoutRefusals }))(
  "what a host of %s is given of an earlier refusal",
  (_, host) => {
    test.each(["refusal", "content"])("in %s, from a chat client", (place) => {
      const content = [{ type: "refusal", refusal: "TXT1" }]
      const said = { role: "assistant", ...(place === "content" ? { content } : { content: "", refusal: "TXT1" }) }
      const { json, dropped } = sentTo(host, clients.chat, [chatUser("x"), said, chatUser("y")])
      expect([marksIn(json), dropped]).toEqual([["TXT1"], []])
      if (host === openai) expect(JSON.stringify(json)).toContain('{"type":"refusal","refusal":"TXT1"}')
      if (host === withoutRefusals) expect(JSON.stringify(json)).not.toContain('"refusal":')
    })
  },
)
