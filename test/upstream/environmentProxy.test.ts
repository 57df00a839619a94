/** Which calls go through the proxy of the environment. All others are dialled by our own client, which checks addresses. */
import { expect, test } from "bun:test"
import { environmentProxy } from "../../src/upstream/environmentProxy.ts"

const secure = "https://api.acme.example/v1/chat/completions"

test.each<[string, Record<string, string>, string | undefined]>([
  [secure, {}, undefined],
  [secure, { HTTPS_PROXY: "http://proxy:3128" }, "http://proxy:3128"],
  [secure, { https_proxy: "http://proxy:3128" }, "http://proxy:3128"],
  // A proxy for http alone once sent every https call past the check of its address.
  [secure, { HTTP_PROXY: "http://proxy:3128" }, undefined],
  [secure, { HTTPS_PROXY: "" }, undefined],
  [secure, { HTTPS_PROXY: "http://proxy:3128", NO_PROXY: "acme.example" }, undefined],
  [secure, { HTTPS_PROXY: "http://proxy:3128", NO_PROXY: "localhost, .acme.example" }, undefined],
  [secure, { HTTPS_PROXY: "http://proxy:3128", NO_PROXY: "*.acme.example" }, undefined],
  [secure, { HTTPS_PROXY: "http://proxy:3128", NO_PROXY: "api.acme.example:443" }, undefined],
  [secure, { HTTPS_PROXY: "http://proxy:3128", no_proxy: "*" }, undefined],
  [secure, { HTTPS_PROXY: "http://proxy:3128", NO_PROXY: "me.example,xacme.example" }, "http://proxy:3128"],
  ["https://[2001:db8::5]/v1", { HTTPS_PROXY: "http://proxy:3128", NO_PROXY: "2001:db8::5" }, undefined],
  ["https://[2001:db8::5]/v1", { HTTPS_PROXY: "http://proxy:3128", NO_PROXY: "[2001:DB8::5]:443" }, undefined],
  ["https://acme.example:8443", { HTTPS_PROXY: "http://proxy:3128", NO_PROXY: " ,ACME.example" }, undefined],
  ["https://acme.example?a=/", { HTTPS_PROXY: "http://proxy:3128" }, "http://proxy:3128"],
  ["no URL", { HTTPS_PROXY: "http://proxy:3128" }, undefined],
  ["http://10.0.0.5:8000/v1", { HTTP_PROXY: "http://proxy:3128" }, "http://proxy:3128"],
])("%s with %j goes through %p", (url, environment, proxy) => {
  const proxyOf = environmentProxy(environment)
  expect([proxyOf(url), proxyOf(url)]).toEqual([proxy, proxy])
})
