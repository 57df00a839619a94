/** The examples in the API's description: there is one for everything, and what is accepted agrees. */
import { expect, test } from "bun:test"
import type * as Either from "effect/Either"
import type { BadRequest } from "../../../src/domain/failures/Failure.ts"
import { isJsonObject, type JsonObject } from "../../../src/domain/json/json.ts"
import { ofModel } from "../../../src/domain/request/forms.ts"
import { decodeChat } from "../../../src/formats/chat/chatRequest.ts"
import { decodeCompletions } from "../../../src/formats/completions/completionsRequest.ts"
import { decodeEmbeddings } from "../../../src/formats/embeddings/embeddingsRequest.ts"
import { embeddingsBody } from "../../../src/formats/generateContent/generateContentEmbeddings.ts"
import { decodeGenerateContent } from "../../../src/formats/generateContent/generateContentRequest.ts"
import { decodeMessages } from "../../../src/formats/messages/messagesRequest.ts"
import { decodeRerank } from "../../../src/formats/rerank/rerankRequest.ts"
import { decodeCompact } from "../../../src/formats/responses/responsesCompact.ts"
import { decodeResponses } from "../../../src/formats/responses/responsesRequest.ts"
import { Target } from "../../../src/formats/Target.ts"
import { document, faultsAt, problemsIn } from "../../support/clients/openApi.ts"
import { asManager, json, startControlPlane } from "../../support/gateways/control.ts"

interface Content {
  readonly schema: { readonly format?: string }
  readonly example?: unknown
}
interface Operation {
  readonly operationId: string
  readonly requestBody?: { readonly content: Readonly<Record<string, Content>> }
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, Content>> }>>
}
const paths: Readonly<Record<string, Readonly<Record<string, Operation>>>> = JSON.parse(JSON.stringify(document.paths))

const operations = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    ...{ path, method, operation, name: `${method} ${path}` },
    requests: Object.entries(operation.requestBody?.content ?? {}),
    answers: Object.entries(operation.responses).map(
      ([status, { content }]) => [status, Object.entries(content ?? {})] as const,
    ),
  })),
)
const pointerTo = (...names: ReadonlyArray<string>) =>
  `/${names.map((name) => encodeURIComponent(name.replaceAll("~", "~0").replaceAll("/", "~1"))).join("/")}`

test("every operation has one of its request and one of its answer", () => {
  const without = operations.flatMap(({ name, requests, answers }) => {
    const success = answers.filter(([status]) => status.startsWith("2")).flatMap(([, content]) => content)
    // A file is no text; what never succeeds shows how it refuses.
    const isFile = success.length > 0 && success.every(([, { schema }]) => schema.format === "binary")
    const shown = success.length > 0 ? success : answers.flatMap(([, content]) => content)
    return [
      ...(requests.every(([, content]) => "example" in content) ? [] : [`${name}: request`]),
      ...(isFile || shown.some(([, content]) => "example" in content) ? [] : [`${name}: answer`]),
    ]
  })
  expect(operations.length).toBeGreaterThan(35)
  expect(without).toEqual([])
})

test("each fits its schema, and says something", () => {
  const faults = operations.flatMap(({ name, path, method, requests, answers }) => {
    const bodies = [
      ...requests.map(([type, content]) => [["requestBody", "content", type], content] as const),
      ...answers.flatMap(([status, contents]) =>
        contents.map(([type, content]) => [["responses", status, "content", type], content] as const),
      ),
    ]
    return bodies
      .filter(([, content]) => "example" in content)
      .flatMap(([place, { example }]) => {
        const faults = faultsAt(pointerTo("paths", path, method, ...place, "schema"), example)
        const blank = JSON.stringify(example).includes('""')
        return [...faults, ...(blank ? ["has an empty text"] : [])].map((fault) => `${name}: ${fault}`)
      })
  })
  expect(faults).toEqual([])
})

const targetOf = (method: string) => new Target(ofModel(method), `/api/v1beta/models/google/gemini-2.5-flash:${method}`)

test("of requests of the data plane are decoded", () => {
  const headers = new Headers()
  const decoders: Readonly<Record<string, (body: JsonObject) => Either.Either<unknown, BadRequest>>> = {
    "/chat/completions": decodeChat,
    "/route/explain": decodeChat,
    "/completions": decodeCompletions,
    "/messages": (body) => decodeMessages(body, headers),
    "/messages/count_tokens": (body) => decodeMessages(body, headers),
    "/responses": decodeResponses,
    "/responses/compact": decodeCompact,
    "/embeddings": decodeEmbeddings,
    "/rerank": decodeRerank,
    ...Object.fromEntries(
      ["generateContent", "streamGenerateContent", "countTokens"].map((method) => [
        `beta/models/{model}:${method}`,
        (body: JsonObject) => decodeGenerateContent(body, headers, targetOf(method)),
      ]),
    ),
    ...Object.fromEntries(
      ["embedContent", "batchEmbedContents"].map((method) => [
        `beta/models/{model}:${method}`,
        (body: JsonObject) => decodeEmbeddings(embeddingsBody(body, targetOf(method))),
      ]),
    ),
  }
  const problems = operations
    .filter(({ operation, method }) => method === "post" && operation.operationId.startsWith("inference."))
    .map(({ path, requests }) => {
      const [, content] = requests[0] ?? []
      const decode = decoders[path.replace("/api/v1", "")]
      return [path, isJsonObject(content?.example) && decode ? problemsIn(decode(content.example)) : ["no decoder"]]
    })
  expect(problems.length).toBe(Object.keys(decoders).length)
  expect(problems.filter(([, found]) => found?.length !== 0)).toEqual([])
})

test("of requests of the control plane are accepted", async () => {
  const control = await startControlPlane({ control: { publicUrl: "https://gateway.test" } })
  const { data } = await json(await control.send("/api/v1/keys", asManager("POST", { name: "first" })))
  const wanted = operations.filter(({ operation, requests }) => {
    return requests.length > 0 && !operation.operationId.startsWith("inference.")
  })
  expect(wanted.length).toBe(4)
  for (const { path, method, requests } of wanted) {
    const body = requests[0]?.[1].example
    const address = path.replace("{hash}", data.hash)
    const { status } = await control.send(address, asManager(method.toUpperCase(), body))
    // The key of the example is none of this gateway's.
    const accepted = path.endsWith("/session") ? 401 : method === "post" ? 201 : 200
    expect([path, status]).toEqual([path, accepted])
  }
  await control.close()
})
