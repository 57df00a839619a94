/** Lines of the log. */
import { expect, spyOn, test } from "bun:test"
import * as Effect from "effect/Effect"
import { layerLogger } from "../../src/process/logger.ts"

test("had two fields `message` on one line, and `code=undefined`", () => {
  const written = spyOn(console, "error").mockImplementation(() => {})
  try {
    Effect.runSync(
      Effect.logWarning("what was tried", "why it failed", { host: "acme", code: undefined }).pipe(
        Effect.provide(layerLogger),
      ),
    )
    const [line] = written.mock.calls.flat().map(String)
    expect(line?.match(/message=/g)).toHaveLength(1)
    expect(line).toContain('message="what was tried: why it failed"')
    expect(line).toContain("host=acme")
    expect(line).not.toContain("undefined")
  } finally {
    written.mockRestore()
  }
})
