/** docs/deployment.md: what it names is there, and its numbers are those of the program. */
import { expect, test } from "bun:test"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { root } from "./dockerfile.ts"
import { defaults, image, textOf } from "./facts.ts"

const page = textOf("docs/deployment.md")
const numbers = (pattern: RegExp): ReadonlyArray<number> =>
  [...page.matchAll(pattern)].map(([, written = ""]) => Number(written))

test("the files that it names are there", () => {
  const named = [...page.matchAll(/(?<!test\/)\bdeploy\/[\w./-]*\w/g)].map(([path]) => path)
  expect(named).toContain("deploy/kubernetes/postgres.yaml")
  expect(named.filter((path) => path !== "deploy/.env" && !existsSync(join(root, path)))).toEqual([])
})

test("whatever stops the gateway waits for longer than it drains", () => {
  const { drainSeconds } = defaults.server
  expect(numbers(/`server\.drain_s` (?:seconds )?\((\d+)\)/g)).toEqual([drainSeconds, drainSeconds])
  const [stop = 0, ...more] = numbers(/--stop-timeout (\d+)/g)
  expect([stop > drainSeconds + 10, more]).toEqual([true, []])
})

test("a container's folders are those of the image", () => {
  expect(page).toContain(`-v headgate:${image.data} `)
  expect(page).toContain(`mounted to \`${image.installation}/headgate.config.json\``)
})

test("nginx lets through what the gateway accepts, for as long as it may take", () => {
  const { bodyBytes, deadlineMs } = defaults.limits
  expect(numbers(/client_max_body_size (\d+)m;/g)).toEqual([bodyBytes / 1024 ** 2])
  for (const seconds of numbers(/proxy_(?:read|send)_timeout (\d+)s;/g))
    expect(seconds * 1000).toBeGreaterThan(deadlineMs)
  expect(page).toContain("proxy_buffering off;")
})
