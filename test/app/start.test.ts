/** How the process ends: signals, faults of plugins outside of requests, addresses that do not do. docs/guarantees.md#g19 */
import { afterAll, describe, expect, test } from "bun:test"
import { existsSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { contentOf, readStrictly } from "../support/clients/strictSse.ts"
import { until } from "../support/clocks/until.ts"
import { firstKey, type Installation, install, type StartOptions } from "../support/gateways/process.ts"
import { chunkOf, configFor } from "../support/hosts/host.ts"
import { ownPluginsFolder } from "../support/hosts/ownPlugins.ts"
import { event, lastPart, type Peer, rawHost, streamHead } from "../support/hosts/rawHost.ts"

const patience = 1_800_000

/** The tests run side by side, since each waits for a process. */
const closing: Array<() => unknown> = []
afterAll(() => Promise.all(closing.map((close) => close())))

const installed = (): Installation => {
  const installation = install()
  closing.push(installation.remove)
  return installation
}

/** The gateway waits for a stream as long as the test takes, however busy the machine is. */
const bare = { discovery: { environment: false, local: false }, server: { drain_s: 3600 } }

/** A strategy plugin of this source, in a folder that is searched besides the built-in ones. */
const withPlugin = (installation: Installation, id: string, source: string) => {
  const folder = join(installation.folder, "plugins")
  mkdirSync(join(folder, "strategies", id), { recursive: true })
  writeFileSync(join(folder, "strategies", id, "index.ts"), source)
  return { plugins: { folders: [folder, ownPluginsFolder()] } }
}

const words = Array.from({ length: 200 }, (_, at) => `word${at} `)

/** A gateway with a stream that has said its first word. The host says the others when it is told to. */
const streaming = async (installation: Installation, options: StartOptions, more: Record<string, unknown> = {}) => {
  const peers: Array<Peer> = []
  const host = rawHost((peer) => {
    peers.push(peer)
    peer.write(streamHead)
  })
  closing.push(host.stop)
  const gateway = installation.start({ ...options, config: configFor({ a: { url: host.url } }, { ...bare, ...more }) })
  const url = await gateway.url()
  await until(() => gateway.out().includes("curl "), "the keys")
  const answer = fetch(`${url}/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${firstKey(gateway.out())}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "acme/small", messages: [{ role: "user", content: "hello" }], stream: true }),
  })
  await until(() => peers.length === 1, "the call")
  const write = (bytes: Uint8Array) => {
    for (const peer of peers) peer.write(bytes)
  }
  const say = (content: string) => write(event(chunkOf({ delta: { content }, finish_reason: null })))
  say(words[0] ?? "")
  const { body } = await answer
  let text = ""
  const reading = (async () => {
    const decoder = new TextDecoder()
    for await (const bytes of body ?? []) text += decoder.decode(bytes, { stream: true })
  })()
  /** Word for word: each has arrived, or the stream was ended, before the next is said. */
  const sayRest = async () => {
    let isOver = false
    void reading.then(() => {
      isOver = true
    })
    for (const word of words.slice(1)) {
      say(word)
      await until(() => isOver || text.includes(word), word)
    }
    write(event(chunkOf({ delta: {}, finish_reason: "stop" })))
    write(event("[DONE]"))
    write(Buffer.from(lastPart))
    await reading
    return readStrictly(text)
  }
  const closed = () =>
    until(
      () =>
        fetch(url.replace("/api/v1", "/healthz")).then(
          () => false,
          () => true,
        ),
      "the port to close",
    )
  return { gateway, sayRest, closed }
}

describe.concurrent("a running stream", () => {
  test(
    "says all of its 200 words when its process group is signalled: the script runner forwards its copy of the signal",
    async () => {
      const { gateway, sayRest, closed } = await streaming(installed(), { asScript: true })
      gateway.kill("SIGTERM")
      await closed()
      const { events, done } = await sayRest()
      expect([done, contentOf(events)]).toEqual([true, words.join("")])
      await gateway.exited
      expect(gateway.out()).toMatch(
        /\nheadgate stopped: SIGTERM; 1 request ended by itself, 0 were cut off; it took [\d.]+ s\n$/,
      )
    },
    patience,
  )

  test(
    "was cut, and the process ended with 129 or 1, by SIGHUP or a plugin's rejected promise after SIGTERM: it says all of its words",
    async () => {
      const installation = installed()
      const flag = join(installation.folder, "reject")
      const plugins = withPlugin(
        installation,
        "rejecting",
        `import { existsSync } from "node:fs"
        setInterval(() => { if (existsSync(${JSON.stringify(flag)})) void Promise.reject(new Error("the plugin's promise")) }, 5)
        export default 1`,
      )
      const { gateway, sayRest, closed } = await streaming(installation, {}, plugins)
      gateway.kill("SIGTERM")
      await closed()
      process.kill(gateway.pid, "SIGHUP")
      writeFileSync(flag, "")
      await until(() => gateway.err().includes("unhandled rejection: Error: the plugin's promise"), "the rejection")
      const { events, done } = await sayRest()
      expect([done, contentOf(events)]).toEqual([true, words.join("")])
      expect(await gateway.exited).toBe(0)
      expect(gateway.out()).toContain("\nheadgate stopped: SIGTERM; 1 request ended by itself, ")
    },
    patience,
  )

  test(
    "says all of its words when a plugin's timer throws, and the process ends with 70",
    async () => {
      const installation = installed()
      const flag = join(installation.folder, "throw")
      const plugins = withPlugin(
        installation,
        "ticking",
        `import { existsSync } from "node:fs"
        setInterval(() => { if (existsSync(${JSON.stringify(flag)})) throw new Error("the plugin's timer") }, 5)
        export default 1`,
      )
      const { gateway, sayRest, closed } = await streaming(installation, {}, plugins)
      writeFileSync(flag, "")
      await closed()
      const { events, done } = await sayRest()
      expect([done, contentOf(events)]).toEqual([true, words.join("")])
      expect(await gateway.exited).toBe(70)
      expect(
        gateway.err().match(/event=uncaught_exception message="uncaught exception: Error: the plugin's timer"/g),
      ).toHaveLength(1)
      expect(gateway.out()).toContain("\nheadgate stopped: an uncaught exception; 1 request ended by itself, ")
    },
    patience,
  )
})

describe.concurrent("the command line", () => {
  test(
    "wins over the environment, without `serve` too; what Kubernetes sets is no setting, and what nobody knows is warned of",
    async () => {
      const installation = installed()
      const env = { HEADGATE_PORT: "tcp://10.0.0.1:8787", HEADGATE_SERVICE_HOST: "10.0.0.1", HEADGATE_HOSTNMAE: "::" }
      const config = { ...bare, server: { port: 1 } }
      const gateway = installation.start({ config, env, words: ["--port", "0", "--storage=memory:"] })
      const url = await gateway.url()
      expect((await fetch(url.replace("/api/v1", "/healthz"))).status).toBe(200)
      await until(() => gateway.out().includes("\nwarning: "), "the summary")
      const [, summary = ""] = gateway.out().split(/^headgate listens at .*\n/m)
      const { version } = await Bun.file(join(import.meta.dir, "../../package.json")).json()
      const lines = summary.trimEnd().split("\n\n")[0]?.split("\n")
      expect(lines?.map((line) => line.split(": ")[0])).toEqual([
        ...["version", "address", "configuration", "data", "providers", "models", "strategy", "warning"],
      ])
      const begin = [`version: ${version}, Bun ${Bun.version}`, `address: ${url}`]
      expect(lines?.slice(0, 3)).toEqual([...begin, `configuration: ${installation.folder}/headgate.config.json`])
      expect(existsSync(installation.database)).toBe(false)
      const misspelt = 'HEADGATE_HOSTNMAE is set and not known, did you mean \\"HEADGATE_HOSTNAME\\"?'
      await until(() => gateway.err().includes(misspelt) && gateway.err().includes("Kubernetes"), "the warnings")
      expect(gateway.err().match(/Kubernetes/g)).toHaveLength(1)
    },
    patience,
  )

  test(
    "says what is logged, and where the file is",
    async () => {
      const installation = installed()
      const file = join(installation.folder, "other.json")
      writeFileSync(file, JSON.stringify({ ...bare, storage: "memory:" }))
      const words = ["serve", "--config", file, "--log-level", "error"]
      const env = { HEADGATE_STORAGE: "", HEADGATE_NONSENSE: "1" }
      const gateway = installation.start({ config: { server: { port: -1 } }, env, words })
      await gateway.url()
      expect(gateway.err()).toBe("")
    },
    patience,
  )
})

describe.concurrent("a gateway that does not start", () => {
  test(
    "because a plugin loops for ever while it is imported names it and ends with 70",
    async () => {
      const installation = installed()
      // It sleeps first, and leaves the processors to other tests; it computes when the time is over.
      const config = { ...bare, ...withPlugin(installation, "looping", "Bun.sleepSync(4000)\nfor (;;) {}") }
      const gateway = installation.start({ config })
      expect(await gateway.exited).toBe(70)
      const path = join(installation.folder, "plugins", "strategies", "looping")
      expect(gateway.err()).toContain(`plugin ${path}: import: it has blocked the process for 6 seconds`)
      expect(existsSync(installation.database)).toBe(false)
    },
    patience,
  )

  test(
    "because a plugin ended the process said nothing and ended with 0, as if all were well",
    async () => {
      const installation = installed()
      const gateway = installation.start({
        config: { ...bare, ...withPlugin(installation, "leaving", "process.exit(0)") },
      })
      expect(await gateway.exited).toBe(70)
      const path = join(installation.folder, "plugins", "strategies", "leaving")
      expect(gateway.err()).toEndWith(`plugin ${path}: import: it ended the process\n`)
    },
    patience,
  )

  test(
    "ends also when a plugin has left a timer behind",
    async () => {
      const installation = installed()
      const plugins = withPlugin(installation, "ticking", "setInterval(() => {}, 1000)\nexport default 1")
      const gateway = installation.start({ config: { ...bare, ...plugins, server: { port: -1 } } })
      expect(await gateway.exited).toBe(78)
    },
    patience,
  )

  test.each([
    ["999.1.1.1", 78, "config error: HEADGATE_HOSTNAME: expected an IP address or a host name, got string"],
    ["no-such-host.invalid", 69, "server: cannot listen: "],
    ["192.0.2.1", 69, "server: cannot listen: "],
  ])(
    "at HEADGATE_HOSTNAME=%s says so in one line, without a stack",
    async (hostname, code, line) => {
      const gateway = installed().start({ config: bare, env: { HEADGATE_HOSTNAME: hostname } })
      expect(await gateway.exited).toBe(code)
      expect(gateway.err().trim().split("\n").at(-1)).toStartWith(line)
      expect(gateway.err()).not.toContain("    at ")
    },
    patience,
  )
})
