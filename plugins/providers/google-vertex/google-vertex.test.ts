import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import { createVerify, generateKeyPairSync } from "node:crypto"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import { HostFailed, type Provider, type SideAnswer, type SideRequest } from "headgate/plugin"
import vertex from "./index.ts"

const { privateKey, publicKey } = generateKeyPairSync("rsa", {
  modulusLength: 2048,
  publicKeyEncoding: { type: "spki", format: "pem" },
  privateKeyEncoding: { type: "pkcs8", format: "pem" },
})

const email = "gateway@acme-1.iam.gserviceaccount.com"
const account = {
  type: "service_account",
  project_id: "acme-1",
  private_key_id: "k1",
  private_key: privateKey,
  client_email: email,
  token_uri: "https://oauth2.googleapis.com/token",
}
const credentials = JSON.stringify(account)

const load = (config: object): Promise<Provider> => Promise.resolve(Either.getOrThrow(vertex.load(config)))

/** Why a provider does not load. */
const refusal = (config: object): Promise<string> =>
  load(config).then(
    () => "loaded",
    (cause) => (cause instanceof Error ? cause.message : String(cause)),
  )

/** A server of tokens on loopback, and what it was asked. */
const asked: Array<URLSearchParams> = []
let answer: (call: number) => Response | Promise<Response>
let server: ReturnType<typeof Bun.serve>

beforeAll(() => {
  server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async (request) => {
      asked.push(new URLSearchParams(await request.text()))
      return answer(asked.length)
    },
  })
})
afterAll(() => server.stop(true))
beforeEach(() => {
  asked.length = 0
  answer = (call) => Response.json({ access_token: `ya29.${call}`, expires_in: 3600, token_type: "Bearer" })
})

const http = ({ method = "GET", headers = {}, body }: SideRequest): Effect.Effect<SideAnswer, HostFailed> =>
  Effect.tryPromise({
    try: async () => {
      const response = await fetch(`http://127.0.0.1:${server.port}/token`, { method, headers, body: body ?? null })
      return { status: response.status, headers: response.headers, body: await response.text() }
    },
    catch: (cause) => new HostFailed({ reason: "unreachable", cause }),
  })

/** Unix milliseconds. */
const start = 1_790_000_000_000

const request = { path: "/publishers/google/models/m:generateContent", headers: { a: "b" }, body: "{}" }

const signing = (provider: Provider, now = start, key?: string) => {
  const { sign } = provider
  if (sign === undefined) throw new Error("it does not sign")
  return sign(request, {
    url: "https://aiplatform.googleapis.com/x",
    credentials: key === undefined ? {} : { api_key: Redacted.make(key) },
    http,
    now,
  })
}

const bearerAt = async (provider: Provider, now = start): Promise<string | undefined> =>
  (await Effect.runPromise(signing(provider, now))).headers?.["authorization"]

const failureAt = (provider: Provider, now = start) => Effect.runPromise(Effect.flip(signing(provider, now)))

const decoded = (part: string | undefined): unknown => JSON.parse(Buffer.from(part ?? "", "base64url").toString())

describe("the token of a service account", () => {
  test("is asked for with a signed assertion, as Google's page on service accounts has it", async () => {
    const provider = await load({ credentials })
    const signed = await Effect.runPromise(signing(provider))
    expect(signed).toEqual({ ...request, headers: { a: "b", authorization: "Bearer ya29.1" } })
    expect(asked[0]?.get("grant_type")).toBe("urn:ietf:params:oauth:grant-type:jwt-bearer")
    const [header, claims, signature] = (asked[0]?.get("assertion") ?? "").split(".")
    expect(decoded(header)).toEqual({ alg: "RS256", typ: "JWT", kid: "k1" })
    expect(decoded(claims)).toEqual({
      iss: email,
      scope: "https://www.googleapis.com/auth/cloud-platform",
      aud: account.token_uri,
      iat: start / 1000,
      exp: start / 1000 + 3600,
    })
    const verifier = createVerify("RSA-SHA256").update(`${header}.${claims}`)
    expect(verifier.verify(publicKey, Buffer.from(signature ?? "", "base64url"))).toBe(true)
  })

  test("is kept until five minutes before it expires", async () => {
    const provider = await load({ credentials })
    const minutes = (count: number) => start + count * 60_000
    expect(await bearerAt(provider)).toBe("Bearer ya29.1")
    expect(await bearerAt(provider, minutes(54))).toBe("Bearer ya29.1")
    expect(asked).toHaveLength(1)
    expect(await bearerAt(provider, minutes(55))).toBe("Bearer ya29.2")
    expect(await bearerAt(provider, minutes(100))).toBe("Bearer ya29.2")
    expect(asked).toHaveLength(2)
  })

  test("is fetched once for requests that come at the same time, also when the first of them is ended", async () => {
    const provider = await load({ credentials })
    const gate = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    answer = async () => {
      begun.resolve()
      await gate.promise
      return Response.json({ access_token: "ya29.shared", expires_in: 3600 })
    }
    const first = Effect.runFork(signing(provider))
    const others = [1, 2, 3].map(() => bearerAt(provider))
    await begun.promise
    await Effect.runPromise(Fiber.interrupt(first))
    gate.resolve()
    expect(await Promise.all(others)).toEqual(["Bearer ya29.shared", "Bearer ya29.shared", "Bearer ya29.shared"])
    expect(asked).toHaveLength(1)
  })

  test.each<[string, () => Response, string, number | undefined]>([
    ["a refusal", () => Response.json({ error: "invalid_grant" }, { status: 400 }), "account invalid_grant", 400],
    [
      "an unknown account",
      () => Response.json({ error: "invalid_client" }, { status: 401 }),
      "account invalid_client",
      401,
    ],
    ["too many requests", () => new Response("", { status: 429 }), "rate-limited undefined", 429],
    ["trouble", () => new Response("<html>", { status: 503 }), "overloaded undefined", 503],
    ["an answer without a token", () => Response.json({ expires_in: 3600 }), "malformed undefined", undefined],
    ["a token that never ends", () => Response.json({ access_token: "a" }), "malformed undefined", undefined],
    ["no JSON", () => new Response("ok"), "malformed undefined", undefined],
  ])("%s fails the attempt alone: the next request asks again", async (_, failing, expected, status) => {
    const provider = await load({ credentials })
    answer = (call) => (call === 1 ? failing() : Response.json({ access_token: "ya29.later", expires_in: 60 }))
    const failure = await failureAt(provider)
    expect(`${failure.reason} ${failure.code}`).toBe(expected)
    expect(failure.status).toBe(status)
    expect(failure.detail).toBeUndefined()
    expect(await bearerAt(provider)).toBe("Bearer ya29.later")
  })

  test("a failure reaches all who wait for it", async () => {
    const provider = await load({ credentials })
    const gate = Effect.runSync(Deferred.make<void>())
    answer = async () => {
      await Effect.runPromise(Deferred.await(gate))
      return Response.json({ error: "invalid_grant" }, { status: 400 })
    }
    const waiting = [failureAt(provider), failureAt(provider)]
    await Effect.runPromise(Deferred.succeed(gate, undefined))
    expect((await Promise.all(waiting)).map(({ reason }) => reason)).toEqual(["account", "account"])
    expect(asked).toHaveLength(1)
  })
})

describe("other credentials", () => {
  test("a token that is configured as api_key is the gateway's matter", async () => {
    const provider = await load({ project: "acme-1" })
    expect(await Effect.runPromise(signing(provider, start, "ya29.own"))).toEqual(request)
    expect(asked).toHaveLength(0)
  })

  test("without any, the account is at fault", async () => {
    expect(await failureAt(await load({ project: "acme-1" }))).toMatchObject({ reason: "account" })
  })

  test("the key of a service account may be a file", async () => {
    const folder = mkdtempSync(join(tmpdir(), "headgate-vertex-"))
    try {
      const path = join(folder, "key.json")
      writeFileSync(path, credentials)
      expect(await bearerAt(await load({ credentials: path }))).toBe("Bearer ya29.1")
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  test.each<[string, object, string]>([
    ["no file", { credentials: "/nowhere/key.json" }, "credentials: the file /nowhere/key.json cannot be read"],
    ["no JSON", { credentials: "{nothing" }, "credentials: the key is no JSON object"],
    [
      "another kind",
      { credentials: '{"type":"authorized_user"}' },
      'credentials: the key is not of "type": "service_account"',
    ],
    [
      "no key",
      { credentials: '{"type":"service_account"}' },
      "credentials: the key has no client_email or no private_key",
    ],
    [
      "a broken key",
      {
        credentials: JSON.stringify({
          ...account,
          private_key: "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----",
        }),
      },
      "credentials: the private_key is no RSA key in PKCS #8",
    ],
    [
      "no project",
      { credentials: JSON.stringify({ ...account, project_id: undefined }) },
      "project: it is not named, and the credentials do not name one",
    ],
  ])("%s", async (_, config, expected) => expect(await refusal(config)).toBe(expected))
})

describe("where it is", () => {
  test.each<[object, string]>([
    [{}, "https://aiplatform.googleapis.com/v1beta1/projects/acme-1/locations/global"],
    [
      { location: "global", project: "other" },
      "https://aiplatform.googleapis.com/v1beta1/projects/other/locations/global",
    ],
    [{ location: "us-east5" }, "https://us-east5-aiplatform.googleapis.com/v1beta1/projects/acme-1/locations/us-east5"],
    [{ location: "eu" }, "https://aiplatform.eu.rep.googleapis.com/v1beta1/projects/acme-1/locations/eu"],
  ])("%j", async (config, expected) => expect((await load({ credentials, ...config })).baseUrl).toBe(expected))

  test.each([
    { location: "x.evil.example/" },
    { location: "" },
    { project: "a/b" },
    { project: "a?b" },
    { region: "eu" },
  ])("%j is refused", (config) => expect(Either.isLeft(vertex.load({ credentials, ...config }))).toBe(true))

  test("the gateway knows the key, to keep it out of errors and logs", async () => {
    const { credentials: known } = await load({ credentials })
    expect(Object.values(known ?? {}).map((secret) => Redacted.value(secret))).toEqual([privateKey])
  })
})
