/**
 * Bad inputs, sent to a gateway on a real socket. They are numbered, and `badInputs/` has the tests of each number.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { bodyTests, stalledTests } from "./badInputs/bodies.ts"
import { callerTests } from "./badInputs/callers.ts"
import { covered, startHarness, stopHarness } from "./badInputs/harness.ts"
import { managementTests } from "./badInputs/management.ts"
import { memberTests } from "./badInputs/members.ts"
import { moneyTests } from "./badInputs/money.ts"
import { repeatTests } from "./badInputs/repeats.ts"
import { routeTests } from "./badInputs/routes.ts"
import { transportTests } from "./badInputs/transport.ts"

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
