/** Where a streamed answer goes that is read in this process. docs/guarantees.md#g18 */
import { expect, test } from "bun:test"
import { queuedOutput } from "../../../src/services/dispatch/StreamOutput.ts"

const opened = () => {
  let drains = 0
  const output = queuedOutput({ onDrain: () => (drains += 1), onCancel: () => {} })
  return { output, drains: () => drains, reader: output.stream.getReader() }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

test("300 chunks for a reader that keeps up paused the host 300 times: never", async () => {
  const { output, reader } = opened()
  let behind = 0
  let received = 0
  const reading = (async () => {
    for (let next = await reader.read(); next.value !== undefined; next = await reader.read()) {
      received += next.value.byteLength
    }
  })()
  for (let chunk = 0; chunk < 300; chunk++) {
    if (!output.write("x".repeat(250))) behind += 1
    await turn()
  }
  output.end()
  await reading
  expect([behind, received]).toEqual([0, 75_000])
})

test("a reader that does not read is behind from 64 KiB on, counted in bytes, and not once it has taken them", async () => {
  const { output, drains, reader } = opened()
  await turn()
  // Two bytes each.
  const kibibyte = "é".repeat(512)
  for (let written = 0; written < 63; written++) expect(output.write(kibibyte)).toBe(true)
  expect(output.write(kibibyte)).toBe(false)
  await turn()
  expect(drains()).toBe(0)
  for (let read = 0; read < 64; read++) await reader.read()
  await turn()
  expect(drains()).toBe(1)
  expect(output.write(kibibyte)).toBe(true)
})

test("one chunk of more than 64 KiB is taken whole", async () => {
  const { output, drains, reader } = opened()
  await turn()
  expect(output.write("x".repeat(1_000_000))).toBe(false)
  expect((await reader.read()).value?.byteLength).toBe(1_000_000)
  await turn()
  expect(drains()).toBe(1)
})
