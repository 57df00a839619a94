/** What sessions of agents cost at a vendor that caches prompts and bills them by its published rules. docs/guarantees.md#g40 */
import { describe, expect, test } from "bun:test"
import { agentSessions } from "../../support/sessions/agentSessions.ts"
import { cachingProtocols } from "../../support/sessions/prompts.ts"
import { straight, throughGateway } from "../../support/sessions/sessionCost.ts"

const failsAt = 9

describe.each(agentSessions.map((session) => [session.name, session] as const))("a session of %s", (_, session) => {
  test.each(cachingProtocols)(
    "costs no more at four hosts with three keys each, one of which fails, than straight with one move: %s",
    async (protocol) => {
      const { usd, told } = await throughGateway(session, { protocol, hosts: 4, keys: 3, failsAt })
      expect(usd / straight(session, protocol, failsAt)).toBeLessThanOrEqual(1.02)
      expect(told).toBeCloseTo(usd, 9)
    },
    600_000,
  )
})
