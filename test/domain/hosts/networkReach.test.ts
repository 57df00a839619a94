/** Every spelling of an address counts as what it stands for. */
import { describe, expect, test } from "bun:test"
import { mayDial, type Reach, reachOf, reachOfAddress } from "../../../src/domain/hosts/networkReach.ts"

/** As in a URL. */
const hostnames: ReadonlyArray<readonly [string, Reach]> = [
  ["127.0.0.1", "private"],
  ["127.1", "private"],
  ["2130706433", "private"],
  ["0x7f000001", "private"],
  ["0177.0.0.1", "private"],
  ["127.0.0.1.", "private"],
  ["①②⑦.⓪.⓪.①", "private"],
  ["10.255.255.255", "private"],
  ["172.16.0.1", "private"],
  ["172.31.255.255", "private"],
  ["192.168.1.1", "private"],
  ["100.64.0.1", "private"],
  ["198.18.0.1", "private"],
  ["192.0.2.1", "private"],
  ["198.51.100.7", "private"],
  ["203.0.113.7", "private"],
  ["localhost", "private"],
  ["LOCALHOST.", "private"],
  ["a.localhost", "private"],
  ["[::1]", "private"],
  ["[0:0:0:0:0:0:0:1]", "private"],
  ["[::127.0.0.1]", "private"],
  ["[::ffff:10.0.0.1]", "private"],
  ["[::ffff:0:192.168.0.1]", "private"],
  ["[64:ff9b::7f00:1]", "private"],
  ["[64:ff9b:1::808:808]", "private"],
  ["[2002:c0a8:101::]", "private"],
  ["[2001:0:7f00:1:0:0:fefe:fefe]", "private"],
  ["[2001:0:808:808:0:0:80ff:fffe]", "private"],
  ["[2a00:1450::5efe:a00:1]", "private"],
  ["[fc00::1]", "private"],
  ["[fdff:ffff::1]", "private"],
  ["[2001:db8::1]", "private"],
  ["[3fff::1]", "private"],
  ["169.254.169.254", "never"],
  ["2852039166", "never"],
  ["0xa9fea9fe", "never"],
  ["0251.0376.0251.0376", "never"],
  ["169.254.43518", "never"],
  ["169。254。169。254", "never"],
  ["%31%36%39.254.169.254", "never"],
  ["100.100.100.200", "never"],
  ["168.63.129.16", "never"],
  ["192.0.0.192", "never"],
  ["0.0.0.0", "never"],
  ["0.1.2.3", "never"],
  ["224.0.0.1", "never"],
  ["255.255.255.255", "never"],
  ["metadata.google.internal", "never"],
  ["METADATA.", "never"],
  ["[::]", "never"],
  ["[fe80::1]", "never"],
  ["[febf::1]", "never"],
  ["[ff02::1]", "never"],
  ["[fd00:ec2::254]", "never"],
  ["[fd20:ce::254]", "never"],
  ["[::ffff:169.254.169.254]", "never"],
  ["[::a9fe:a9fe]", "never"],
  ["[::ffff:0:a9fe:a9fe]", "never"],
  ["[64:ff9b::a9fe:a9fe]", "never"],
  ["[64:ff9b:1::a9fe:a9fe]", "never"],
  ["[2002:a9fe:a9fe::1]", "never"],
  ["[2001:0:a9fe:a9fe::]", "never"],
  ["[2001:0:808:808:0:0:5601:5601]", "never"],
  ["[2a00:1450::200:5efe:a9fe:a9fe]", "never"],
  ["[100::1]", "never"],
  ["[4000::1]", "never"],
  ["api.acme.example", "public"],
  ["1.1.1.1", "public"],
  ["9.255.255.255", "public"],
  ["100.63.255.255", "public"],
  ["100.128.0.0", "public"],
  ["169.253.255.255", "public"],
  ["172.32.0.0", "public"],
  ["223.255.255.255", "public"],
  ["localhost.example", "public"],
  ["[2606:4700::1111]", "public"],
  ["[::ffff:1.1.1.1]", "public"],
  ["[64:ff9b::101:101]", "public"],
  ["[2002:101:101::]", "public"],
]

describe("the reach of a host", () => {
  test.each(hostnames.map((row) => [...row]))("%s: %s", (hostname, reach) => {
    expect(reachOf(new URL(`https://${hostname}`).hostname)).toBe(reach)
  })

  test.each([[""], ["example.com"], ["1.2.3.4.5"], ["1.2.3.4:80"], ["[::1]"], ["fe80::1%eth0"], ["::1%lo/../"]])(
    "is never dialled where a resolver gives no plain address: %j",
    (address) => {
      expect(reachOfAddress(address)).toBe("never")
    },
  )

  test("allows public addresses to all, private ones to private hosts, and the rest to nobody", () => {
    const reaches = ["public", "private", "never"] as const
    expect(reaches.map((reach) => mayDial(reach, "public"))).toEqual([true, false, false])
    expect(reaches.map((reach) => mayDial(reach, "private"))).toEqual([true, true, false])
  })
})
