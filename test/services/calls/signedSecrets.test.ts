/** Which parts of signed requests are credentials, so that they can be hidden. docs/guarantees.md#g27 */
import { describe, expect, test } from "bun:test"
import { addedBySign, gotToSign, secretsIn, sentToSign } from "../../../src/services/calls/signedSecrets.ts"

const headers = new Headers()

describe("what signing added", () => {
  const before = { path: "/chat?a=1", body: "", headers: { accept: "text/plain", "x-own": "kept" } }

  test("is nothing where the request is the same", () => {
    expect(addedBySign(before, before)).toEqual([])
  })

  test("are headers that are new or changed, but for those that describe the request", () => {
    const signed = {
      ...before,
      headers: { accept: "*/*", "x-own": "kept", "x-token": "t", "x-amz-date": "2026", host: "h" },
    }
    expect(addedBySign(before, signed)).toEqual(["t"])
  })

  test("are long segments of the path and parameters, but for what describes", () => {
    const path = "/chat/0123456789abcdef/short?a=1&key=k&X-Amz-Expires=60"
    expect(addedBySign(before, { ...before, path })).toEqual(["0123456789abcdef", "k"])
  })
})

test.each([
  ["is the value without its scheme", "Bearer token-0123", ["token-0123"]],
  ["is a value alone", "token-0123", ["token-0123"]],
  ["is each parameter of several", 'Digest Signature="abcdefgh", Credential=12345678', ["abcdefgh", "12345678"]],
  ["is no parameter that describes", "AWS4 SignedHeaders=host;accept, Signature=abcdefgh", ["abcdefgh"]],
  ["is none below eight characters", "Bearer 1234567", []],
  [
    "is user and password too",
    `Basic ${btoa("somebody:something")}`,
    [btoa("somebody:something"), "somebody:something", "somebody", "something"],
  ],
])("a secret %s", (_name, value, secrets) => {
  expect(secretsIn([value])).toEqual(secrets)
})

describe("a call that was made in order to sign", () => {
  test("sends credentials in its address, its headers and its body", () => {
    const body = "grant_type=client_credentials&client_secret=form-0123&client_id=somebody"
    const call = { url: "https://a.test/token?key=query-0123", headers: { authorization: "Bearer head-0123" }, body }
    expect(sentToSign(call).toSorted()).toEqual(["form-0123", "head-0123", "query-0123"])
  })

  test("sends none where it only asks", () => {
    expect(sentToSign({ url: "https://a.test/token" })).toEqual([])
  })

  test.each([
    [
      "members of JSON, however deep",
      '{"Credentials":{"SecretAccessKey":"secret-01","Expiration":"2026-01-01"}}',
      ["secret-01"],
    ],
    ["a text of JSON that is one", '"token-0123456789"', ["token-0123456789"]],
    ["a text that is nothing else", "token-0123456789\n", ["token-0123456789"]],
    ["no text with blanks", "no token for you, sorry", []],
    ["no page", "<html>0123456789abcdef</html>", []],
    ["no kind, time or id of one", '{"token_type":"bearer-token","expires_in":"0123456789","key_id":"0123456789"}', []],
  ])("gets %s", (_name, body, secrets) => {
    expect(gotToSign({ status: 200, headers, body })).toEqual(secrets)
  })

  test("gets none by a refusal", () => {
    expect(gotToSign({ status: 401, headers, body: '{"access_token":"token-0123456789"}' })).toEqual([])
  })
})
