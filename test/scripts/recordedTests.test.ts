import { expect, test } from "bun:test"
import counted from "../support/recordings/recordedTests.json" with { type: "json" }
import { recordedIds, recordedRequests, recordingsPresent } from "../support/recordings/recordings.ts"

test.skipIf(!recordingsPresent())(
  "the tests of recorded traffic were counted with all cases: else run scripts/recordedTests.ts",
  () => {
    expect(counted.cases).toBe(recordedIds().length + recordedRequests().length)
  },
)
