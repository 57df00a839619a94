/** Which addresses a caller may let a host fetch. docs/guarantees.md#g36 */
import { expect, test } from "bun:test"
import { addressFault, dataFault } from "../../../src/formats/payload/address.ts"

const base64 = "iVBORw0KGgo".repeat(40)

test.each([
  ["a public address", "https://example.com/cat.png"],
  ["one over http, with a port", "http://example.com:8080/cat.png"],
  ["a public IP", "https://1.1.1.1/cat.png"],
  ["data", `data:image/png;base64,${base64}`],
  ["base64 without a scheme", base64],
  ["a JPEG in base64, which begins with a slash", `/9j/${base64}`],
  ["what is no text", { url: "file:///etc/passwd" }],
])("%s may be sent", (_name, value) => {
  expect(addressFault(value)).toBeUndefined()
})

test.each([
  ["a name of the machine", "http://localhost/"],
  ["a name of one label", "https://intranet-host/"],
  ["a name of an inner network", "https://wiki.corp/"],
  ["the same with a dot at its end", "https://wiki.corp./"],
  ["an address of the cloud's own", "http://169.254.169.254/latest"],
  ["a private IP", "http://10.0.0.1/"],
  ["a private IP in another spelling", "http://0x7f.1/"],
  ["an IPv6 address of the machine", "http://[::1]/"],
  ["two hosts in one, by a backslash", "https://example.com\\@10.0.0.1/"],
  ["no address at all", "https://"],
])("%s is inside of the network", (_name, value) => {
  expect(addressFault(value)).toContain("must be a public address")
})

test.each([
  ["a file", "file:///etc/passwd"],
  ["a bucket", "s3://bucket/key"],
  ["a scheme behind blanks that parsers leave out", "\u0000 \tfile:///etc/passwd"],
  ["a path", "/etc/passwd"],
  ["a path of a user", "~/.ssh/id"],
  ["an address without its scheme", "//example.com/cat.png"],
  ["blanks, and what they hide", `${" ".repeat(300)}file:///etc/passwd`],
])("%s is no address for a host", (_name, value) => {
  expect(addressFault(value)).toBe("must be an http(s) URL or a data URL")
})

test("an address has at most 65,536 characters", () => {
  const start = "https://example.com/"
  expect(addressFault(start.padEnd(65_536, "a"))).toBeUndefined()
  expect(addressFault(start.padEnd(65_537, "a"))).toContain("at most 65536 characters")
})

test("data may begin as a path does, and is judged by its scheme alone", () => {
  expect(dataFault("/etc/passwd")).toBeUndefined()
  expect(dataFault("file:///etc/passwd")).toBe("must be an http(s) URL or a data URL")
  expect(dataFault("http://10.0.0.1/")).toContain("must be a public address")
})
