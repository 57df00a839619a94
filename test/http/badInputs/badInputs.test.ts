/**
 * Bad inputs, sent to a gateway on a real socket. They are numbered, and `badInputs/` has the tests of each number.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { bodyTests, stalledTests } from "./bodies.ts"
import { callerTests } from "./callers.ts"
import { covered, endsAndRecords, startHarness, stopHarness } from "./harness.ts"
import { managementTests } from "./management.ts"
import { memberTests } from "./members.ts"
import { moneyTests } from "./money.ts"
import { repeatTests } from "./repeats.ts"
import { routeTests } from "./routes.ts"
import { transportTests } from "./transport.ts"

/** Numbers whose mechanism does not exist yet. */
const pending: ReadonlyMap<number, string> = new Map([])

beforeAll(startHarness)
afterAll(stopHarness)

describe("bodies", bodyTests)
describe("bodies that do not come", stalledTests)
describe("members of a request", memberTests)
describe("authentication and authorization", callerTests)
describe("routes", routeTests)
describe("money", moneyTests)
describe("requests that are sent again", repeatTests)
describe("key management", managementTests)
describe("transport", transportTests)

test("every number has a test or is pending", () => {
  for (const [number, why] of pending) console.log(`pending: input ${number}: ${why}`)
  expect([...covered].filter((number) => pending.has(number))).toEqual([])
  const all = Array.from({ length: 84 }, (_, at) => at + 1)
  expect([...covered, ...pending.keys()].toSorted((a, b) => a - b)).toEqual(all)
})

test("each that failed and whose key is known has one record, with what its caller saw", async () => {
  const { ends, records } = await endsAndRecords()
  const told = ({ requestId, status, outcome }: { requestId: string; status: number; outcome: string }) =>
    `${requestId} ${status} ${outcome}`
  expect(records.map(told).toSorted()).toEqual(ends.map(told).toSorted())
})
