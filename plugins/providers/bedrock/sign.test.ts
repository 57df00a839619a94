import { describe, expect, test } from "bun:test"
import * as Redacted from "effect/Redacted"
import type { Credentials } from "headgate/plugin"
import { signatureOf } from "../../../test/support/hosts/awsSignature.ts"
import { signed } from "./sign.ts"

// The key, the time and the requests of AWS's published test suite for Signature Version 4.
const secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
const now = Date.parse("2015-08-30T12:36:00Z")
const scope = { region: "us-east-1", service: "service" }
const keys: Credentials = { access_key_id: Redacted.make("AKIDEXAMPLE"), secret_access_key: Redacted.make(secret) }

const vector = (names: string, signature: string): Record<string, string> => ({
  authorization: `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=${names}, Signature=${signature}`,
  host: "example.amazonaws.com",
  "x-amz-date": "20150830T123600Z",
})

describe("the check of signatures that these tests use", () => {
  test.each([
    [
      "get-unreserved",
      "/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
      "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f",
    ],
    ["get-utf8", "/ሴ", "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"],
    ["get-space-normalized", "/example space/", "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741"],
  ])("agrees with %s", (_, target, signature) => {
    const headers = new Headers(vector("host;x-amz-date", signature))
    expect(signatureOf({ method: "GET", target, headers, body: "" }, secret)).toMatchObject({ isValid: true })
    headers.set("x-amz-date", "20150830T123601Z")
    expect(signatureOf({ method: "GET", target, headers, body: "" }, secret)).toMatchObject({ isValid: false })
  })

  test("agrees with get-vanilla-with-session-token", () => {
    const names = "host;x-amz-date;x-amz-security-token"
    const signature = "07ec1639c89043aa0e3e2de82b96708f198cceab042d4a97044c66dd9f74e7f8"
    const headers = new Headers({
      ...vector(names, signature),
      "x-amz-security-token": "6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267",
    })
    expect(signatureOf({ method: "GET", target: "/", headers, body: "" }, secret)).toMatchObject({ isValid: true })
  })
})

describe("signed", () => {
  test.each([
    ["application/x-www-form-urlencoded", "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"],
    [
      "application/x-www-form-urlencoded; charset=utf8",
      "1a72ec8f64bd914b0e42e42607c7fbce7fb2c7465f63e3092b3b0d39fa77a6fe",
    ],
  ])("gives what AWS publishes for a form of type %s", (type, signature) => {
    const encoded = { path: "/", headers: { "content-type": type }, body: "Param1=value1" }
    const { headers = {} } = signed(scope, encoded, { url: "https://example.amazonaws.com/", credentials: keys, now })
    expect(headers["authorization"]).toBe(vector("content-type;host;x-amz-date", signature)["authorization"] ?? "")
    expect(headers["x-amz-date"]).toBe("20150830T123600Z")
  })

  const targets = [
    "/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse-stream",
    `/model/${encodeURIComponent("arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2")}/converse`,
    "/behind/a/proxy/model/plain/invoke?a=1&b=2",
  ]

  test.each(targets)("%s: another implementation agrees, with temporary keys too", (target) => {
    for (const session of [undefined, "token+of/a=session"]) {
      for (const body of ['{"text":"Grüße 🌞"}', new TextEncoder().encode('{"text":"Grüße 🌞"}')]) {
        const credentials = session === undefined ? keys : { ...keys, session_token: Redacted.make(session) }
        const encoded = { path: "/model", headers: { accept: "a/b" }, body }
        const url = `http://127.0.0.1:8080${target}`
        const result = signed({ region: "eu-west-1", service: "bedrock" }, encoded, { url, credentials, now })
        const headers = new Headers({ ...result.headers, host: "127.0.0.1:8080" })
        const text = '{"text":"Grüße 🌞"}'
        const found = signatureOf({ method: "POST", target, headers, body: text }, secret)
        expect(found).toMatchObject({ isValid: true, scope: "eu-west-1/bedrock", key: "AKIDEXAMPLE" })
        expect(found.names).toContain("content-type")
        expect(headers.get("x-amz-security-token")).toBe(session ?? null)
        expect(result).toMatchObject({ path: "/model", body, headers: { accept: "a/b" } })
      }
    }
  })
})
