import { describe, expect, test } from "bun:test"
import { checkBaseUrl, normalBaseUrl } from "../../src/catalogue/baseUrl.ts"
import { type Reach, reachOf } from "../../src/domain/hosts/networkReach.ts"

/** Spellings of loopback, private and unique local addresses: dialled only with `network: "private"`. */
const kept: ReadonlyArray<string> = [
  "127.0.0.1",
  "127.1",
  "127.0.1",
  "127.255.255.254",
  "2130706433",
  "0x7f000001",
  "0x7f.1",
  "0X7F.0.0.1",
  "0177.0.0.1",
  "0177.1",
  "017700000001",
  "127.0.0.1.",
  "%31%32%37.0.0.1",
  "①②⑦.⓪.⓪.①",
  "127。0。0。1",
  "10.0.0.5",
  "10.255.255.255",
  "0xa000005",
  "167772165",
  "012.0.0.5",
  "172.16.0.1",
  "172.31.255.255",
  "192.168.1.1",
  "0xc0a80101",
  "3232235777",
  "100.64.0.1",
  "100.127.255.255",
  "198.18.0.1",
  "192.0.0.1",
  "localhost",
  "LOCALHOST",
  "localhost.",
  "a.localhost",
  "localhost.localdomain",
  "ip6-localhost",
  "[::1]",
  "[0:0:0:0:0:0:0:1]",
  "[::127.0.0.1]",
  "[::7f00:1]",
  "[::ffff:127.0.0.1]",
  "[::ffff:7f00:1]",
  "[::ffff:10.0.0.1]",
  "[::ffff:0:192.168.0.1]",
  "[64:ff9b::127.0.0.1]",
  "[64:ff9b::a00:1]",
  "[64:ff9b:1::808:808]",
  "[2002:7f00:1::]",
  "[2002:a00:1::1]",
  "[2002:c0a8:101::]",
  "[2001:0:7f00:1:0:0:fefe:fefe]",
  "[2001:0:808:808:0:0:80ff:fffe]",
  "[2a00:1450::5efe:a00:1]",
  "[fc00::1]",
  "[fd12:3456::1]",
  "[fdff:ffff::1]",
  "[fec0::1]",
]

/** Spellings of link-local, metadata, unspecified, multicast and reserved addresses: never dialled. */
const refused: ReadonlyArray<string> = [
  "169.254.169.254",
  "169.254.0.1",
  "169.254.170.2",
  "2852039166",
  "0xa9fea9fe",
  "0251.0376.0251.0376",
  "0251.254.43518",
  "169.254.43518",
  "169.16689662",
  "0xA9.254.0xa9.0376",
  "169.254.169.254.",
  "169。254。169。254",
  "①⑥⑨.②⑤④.①⑥⑨.②⑤④",
  "%31%36%39.254.169.254",
  "100.100.100.200",
  "168.63.129.16",
  "192.0.0.192",
  "0.0.0.0",
  "0",
  "0x0",
  "0.1.2.3",
  "224.0.0.1",
  "239.255.255.250",
  "240.0.0.1",
  "255.255.255.255",
  "4294967295",
  "metadata.google.internal",
  "METADATA.google.internal.",
  "metadata",
  "metadata.goog",
  "instance-data.ec2.internal",
  "[::]",
  "[::0.0.0.0]",
  "[fe80::1]",
  "[febf::1]",
  "[FE80:0:0:0:0:0:0:1]",
  "[ff02::1]",
  "[fd00:ec2::254]",
  "[fd00:0ec2:0:0:0:0:0:0254]",
  "[fd20:ce::254]",
  "[::ffff:169.254.169.254]",
  "[::ffff:a9fe:a9fe]",
  "[::a9fe:a9fe]",
  "[::ffff:0:a9fe:a9fe]",
  "[64:ff9b::169.254.169.254]",
  "[64:ff9b::a9fe:a9fe]",
  "[64:ff9b:1::a9fe:a9fe]",
  "[2002:a9fe:a9fe::]",
  "[2002:a9fe:a9fe::1]",
  "[2001:0:a9fe:a9fe::]",
  "[2001:0:808:808:0:0:5601:5601]",
  "[2a00:1450::5efe:a9fe:a9fe]",
  "[2a00:1450::200:5efe:a9fe:a9fe]",
  // Outside of what is given out for global use.
  "[fbff::1]",
]

const open: ReadonlyArray<string> = [
  "api.acme.example",
  "1.1.1.1",
  "9.255.255.255",
  "11.0.0.0",
  "100.63.255.255",
  "100.128.0.0",
  "126.255.255.255",
  "128.0.0.1",
  "169.253.255.255",
  "169.255.0.0",
  "172.15.255.255",
  "172.32.0.0",
  "192.167.255.255",
  "192.169.0.0",
  "198.17.255.255",
  "198.20.0.0",
  "223.255.255.255",
  "localhost.example",
  "notlocalhost",
  "metadata.example",
  "[2606:4700::1111]",
  "[::ffff:1.1.1.1]",
  "[64:ff9b::101:101]",
  "[2002:101:101::]",
  "[2001:0:101:101:0:0:fefe:fefe]",
  "[2001:1::1]",
]

const reach = (host: string): Reach => reachOf(new URL(`https://${host}`).hostname)

describe("how far away a host is", () => {
  test.each(kept.map((host) => [host]))("private: %s", (host) => {
    expect(reach(host)).toBe("private")
    expect(checkBaseUrl(`https://${host}/v1`, "public")).toContain('"network": "private"')
    expect(checkBaseUrl(`http://${host}:8000/v1`, "private")).toBeUndefined()
  })

  test.each(refused.map((host) => [host]))("never: %s", (host) => {
    expect(reach(host)).toBe("never")
    expect(checkBaseUrl(`https://${host}/v1`, "public")).toContain("link-local, metadata or reserved")
    expect(checkBaseUrl(`http://${host}/v1`, "private")).toContain("link-local, metadata or reserved")
  })

  test.each(open.map((host) => [host]))("public: %s", (host) => {
    expect(reach(host)).toBe("public")
    expect(checkBaseUrl(`https://${host}/v1`, "public")).toBeUndefined()
  })
})

const form = 'expected a URL such as "https://host/v1", got string'

describe("the form of an address", () => {
  test.each([
    ["", form],
    ["acme.example/v1", form],
    ["//acme.example", form],
    ["https:acme.example", form],
    ["https:///acme.example", form],
    ["https:\\\\acme.example", form],
    ["https://acme.example\\@10.0.0.1", form],
    [" https://acme.example", form],
    ["https://acme.example/v1\n", form],
    ["ht\ttps://acme.example", form],
    ["https://", form],
    ["https://acme.example:99999", form],
    ["https://256.1.1.1", form],
    ["https://1.2.3.4.5", form],
    ["https://[fe80::1%25eth0]/", form],
    ["file:///etc/passwd", form],
    ["ftp://acme.example", form],
    ["javascript:alert(1)", form],
    ["https://user@acme.example/", "expected a URL without user name and password, got one with them"],
    ["https://@acme.example/", "expected a URL without user name and password, got one with them"],
    ["https://u:p@10.0.0.1/", "expected a URL without user name and password, got one with them"],
    ["https://acme.example/v1?key=1", "expected a URL without query and fragment, got one with them"],
    ["https://acme.example/v1?", "expected a URL without query and fragment, got one with them"],
    ["https://acme.example/v1#a", "expected a URL without query and fragment, got one with them"],
    ["http://acme.example/v1", 'expected https (http needs "network": "private"), got http'],
  ])("%p", (text, expected) => {
    expect(checkBaseUrl(text, "public")).toBe(expected)
  })

  test("may be http in a private network, by name too", () => {
    expect(checkBaseUrl("http://vllm:8000/v1", "private")).toBeUndefined()
    expect(checkBaseUrl("HTTPS://Acme.Example/v1", "public")).toBeUndefined()
  })

  test.each([
    ["https://acme.example/", "https://acme.example"],
    ["HTTPS://Acme.Example:443/v1//", "https://acme.example/v1"],
    ["http://0x7f.1:8000/v1", "http://127.0.0.1:8000/v1"],
    ["no url/", "no url"],
  ])("is brought to one spelling: %s", (text, expected) => {
    expect(normalBaseUrl(text)).toBe(expected)
  })
})
