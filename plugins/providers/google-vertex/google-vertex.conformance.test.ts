import { test } from "bun:test"
import { generateKeyPairSync } from "node:crypto"
import { providerChecks } from "headgate/testing"
import vertex from "./index.ts"

const { privateKey } = generateKeyPairSync("rsa", {
  modulusLength: 2048,
  publicKeyEncoding: { type: "spki", format: "pem" },
  privateKeyEncoding: { type: "pkcs8", format: "pem" },
})

const credentials = JSON.stringify({
  type: "service_account",
  project_id: "acme-1",
  private_key_id: "k1",
  private_key: privateKey,
  client_email: "gateway@acme-1.iam.gserviceaccount.com",
  token_uri: "https://oauth2.googleapis.com/token",
})

const counted = (candidates: number, thoughts: number) => ({
  promptTokenCount: 82,
  candidatesTokenCount: candidates,
  totalTokenCount: 82 + candidates + thoughts,
  cachedContentTokenCount: 64,
  trafficType: "ON_DEMAND",
  promptTokensDetails: [{ modality: "TEXT", tokenCount: 82 }],
  cacheTokensDetails: [{ modality: "TEXT", tokenCount: 64 }],
  candidatesTokensDetails: [{ modality: "TEXT", tokenCount: candidates }],
  thoughtsTokenCount: thoughts,
})

// Vertex AI leaves the index out.
const candidate = (parts: ReadonlyArray<object>, finishReason?: string) => ({
  candidates: [{ content: { role: "model", parts }, ...(finishReason === undefined ? {} : { finishReason }) }],
  modelVersion: "name-at-the-host",
  createTime: "2026-11-20T10:00:00.000000Z",
  responseId: "r1",
})

const answer = async (request: Request) => {
  const { pathname } = new URL(request.url)
  if (pathname === "/token") {
    return Response.json({ access_token: "ya29.check", expires_in: 3599, token_type: "Bearer" })
  }
  if (!pathname.endsWith("/publishers/google/models/name-at-the-host:generateContent")) {
    return new Response(null, { status: 404 })
  }
  return Response.json({ ...candidate([{ text: "About 20 degrees." }], "STOP"), usageMetadata: counted(8, 22) })
}

const event = (data: object) => `data: ${JSON.stringify(data)}\r\n\r\n`

const text =
  event({ ...candidate([{ text: "Rome, then.", thought: true }]), usageMetadata: { trafficType: "ON_DEMAND" } }) +
  event({ ...candidate([{ text: "About 20" }]), usageMetadata: { trafficType: "ON_DEMAND" } }) +
  event({ ...candidate([{ text: " °C 🌞", thoughtSignature: "c2ln" }], "STOP"), usageMetadata: counted(6, 22) })

const call = (city: string) => ({ functionCall: { name: "weather", args: { city } } })

const tools = event({
  ...candidate([{ ...call("Rome"), thoughtSignature: "c2ln" }, call("Oslo")], "STOP"),
  usageMetadata: counted(16, 4),
})

const details = { prompt_tokens_details: { cached_tokens: 64 } }

const checks = await providerChecks({
  plugin: vertex,
  config: { location: "europe-west4", credentials },
  answer,
  answers: [
    {
      name: "a whole call",
      body: { ...candidate([{ ...call("Rome"), thoughtSignature: "c2ln" }], "STOP"), usageMetadata: counted(10, 4) },
      expects: {
        text: "",
        finishReason: "tool_calls",
        signatures: ["c2ln"],
        toolCalls: [{ name: "weather", arguments: { city: "Rome" } }],
        counted: {
          prompt_tokens: 82,
          completion_tokens: 14,
          ...details,
          completion_tokens_details: { reasoning_tokens: 4 },
        },
      },
    },
  ],
  errors: [
    {
      name: "a rate limit",
      status: 429,
      body: {
        error: {
          code: 429,
          message: "Resource exhausted. Please try again later.",
          status: "RESOURCE_EXHAUSTED",
          details: [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "7.5s" }],
        },
      },
      expects: { reason: "rate-limited", retryAfterSeconds: 8 },
    },
    {
      name: "an account without the right",
      status: 403,
      body: {
        error: { code: 403, message: "Permission denied on resource project acme-1.", status: "PERMISSION_DENIED" },
      },
      expects: { reason: "account", hasDetail: false },
    },
  ],
  streams: [
    {
      name: "thinking and text",
      bytes: text,
      expects: {
        text: "About 20 °C 🌞",
        finishReason: "stop",
        reasoning: "Rome, then.",
        signatures: ["c2ln"],
        counted: {
          prompt_tokens: 82,
          completion_tokens: 28,
          ...details,
          completion_tokens_details: { reasoning_tokens: 22 },
        },
      },
    },
    {
      name: "two calls in one event",
      bytes: tools,
      expects: {
        text: "",
        finishReason: "tool_calls",
        signatures: ["c2ln"],
        toolCalls: [
          { name: "weather", arguments: { city: "Rome" } },
          { name: "weather", arguments: { city: "Oslo" } },
        ],
        counted: {
          prompt_tokens: 82,
          completion_tokens: 20,
          ...details,
          completion_tokens_details: { reasoning_tokens: 4 },
        },
      },
    },
  ],
})
for (const check of checks) test(check.name, check.run)
