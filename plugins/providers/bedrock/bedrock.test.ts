import { describe, expect, test } from "bun:test"
import * as Either from "effect/Either"
import * as Redacted from "effect/Redacted"
import type { JsonObject, Provider } from "headgate/plugin"
import bedrock from "./index.ts"

const loaded = (config: JsonObject): Promise<Provider> => Promise.resolve(Either.getOrThrow(bedrock.load(config)))
const refused = (config: JsonObject): string => String(Either.getLeft(bedrock.load(config)))

describe("the plugin", () => {
  test("has the address of its region", async () => {
    expect((await loaded({ region: "eu-west-1" })).baseUrl).toBe("https://bedrock-runtime.eu-west-1.amazonaws.com")
    expect((await loaded({ region: "cn-north-1" })).baseUrl).toBe("https://bedrock-runtime.cn-north-1.amazonaws.com.cn")
  })

  test("needs a region, and keys in pairs", () => {
    expect(refused({})).toContain("region")
    expect(refused({ region: "evil.example/" })).toContain("is not a region")
    expect(refused({ region: "eu-west-1", access_key_id: "a" })).toContain("secret_access_key")
    expect(refused({ region: "eu-west-1", session_token: "a" })).toContain("access_key_id")
  })

  test("signs only with keys, and hands them to the gateway as secrets", async () => {
    expect((await loaded({ region: "eu-west-1" })).sign).toBeUndefined()
    const keys = { access_key_id: "AKID", secret_access_key: "secret", session_token: "token" }
    const { sign, credentials } = await loaded({ region: "eu-west-1", ...keys })
    expect(sign).toBeFunction()
    expect(Object.values(credentials ?? {}).map(Redacted.value)).toEqual(Object.values(keys))
  })
})
