/** Which calls go through the proxy of the environment. All others are dialled by our own client, which checks addresses. */
import { expect, test } from "bun:test"
import { environmentProxy, proxyProblems } from "../../src/upstream/environmentProxy.ts"

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
  // It exempted every port.
  [secure, { HTTPS_PROXY: "http://proxy:3128", NO_PROXY: "api.acme.example:9" }, "http://proxy:3128"],
  ["https://api.acme.example:9/v1", { HTTPS_PROXY: "http://proxy:3128", NO_PROXY: "acme.example:9" }, undefined],
  ["http://api.acme.example/v1", { HTTP_PROXY: "http://proxy:3128", NO_PROXY: "acme.example:80" }, undefined],
  [
    "https://[2001:db8::5]:9/v1",
    { HTTPS_PROXY: "http://proxy:3128", NO_PROXY: "[2001:db8::5]:443" },
    "http://proxy:3128",
  ],
  ["https://10.0.0.5/v1", { HTTPS_PROXY: "http://proxy:3128", NO_PROXY: "10.0.0.0/8" }, "http://proxy:3128"],
  // curl, Go and Python take it; every call failed.
  [secure, { HTTPS_PROXY: "127.0.0.1:3128" }, "http://127.0.0.1:3128"],
  [secure, { HTTPS_PROXY: " me:pass@proxy.acme.example:3128\n" }, "http://me:pass@proxy.acme.example:3128"],
  ["no URL", { HTTPS_PROXY: "http://proxy:3128" }, undefined],
  ["http://10.0.0.5:8000/v1", { HTTP_PROXY: "http://proxy:3128" }, "http://proxy:3128"],
])("%s with %j goes through %p", (url, environment, proxy) => {
  const proxyOf = environmentProxy(environment)
  expect([proxyOf(url), proxyOf(url)]).toEqual([proxy, proxy])
})

test.each<[Record<string, string>, ReadonlyArray<readonly [path: string, got: string]>]>([
  [{}, []],
  [{ HTTPS_PROXY: "127.0.0.1:3128", http_proxy: "proxy" }, []],
  [{ HTTP_PROXY: "https://proxy.acme.example", HTTPS_PROXY: "" }, []],
  [{ https_proxy: "socks5://me:s3cret@127.0.0.1:1080" }, [["https_proxy", "one that begins with socks5://"]]],
  [
    { HTTPS_PROXY: "http://", HTTP_PROXY: "socks5h://proxy" },
    [
      ["HTTPS_PROXY", "a value that is not one"],
      ["HTTP_PROXY", "one that begins with socks5h://"],
    ],
  ],
  [{ HTTP_PROXY: "http://proxy:99999" }, [["HTTP_PROXY", "a value that is not one"]]],
])("a proxy that cannot be used passed every check: %j", (environment, expected) => {
  const problems = proxyProblems(environment).map(({ path, message }) => [path, message.split(", got ")[1]])
  expect(problems).toEqual(expected.map(([path, got]) => [path, got]))
})
