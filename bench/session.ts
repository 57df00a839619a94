/**
 * Prints what sessions of agents cost through the gateway, divided by what the same conversations cost straight at one host: `bun
 * bench/session.ts`. Nothing here depends on the machine's speed.
 */
import { agentSessions } from "../test/support/sessions/agentSessions.ts"
import { cachingProtocols } from "../test/support/sessions/prompts.ts"
import { type Setup, straight, throughGateway } from "../test/support/sessions/sessionCost.ts"

const failsAt = 9
const setups: Readonly<Record<string, Omit<Setup, "protocol">>> = {
  "one host": { hosts: 1, keys: 1 },
  "four hosts": { hosts: 4, keys: 1 },
  "three keys": { hosts: 1, keys: 3 },
  "four hosts, one fails": { hosts: 4, keys: 1, failsAt },
}

const names = Object.keys(setups)
process.stdout.write(
  `| agent | protocol | straight, USD | ${names.join(" | ")} | moves |\n|${" --- |".repeat(names.length + 4)}\n`,
)
for (const session of agentSessions)
  for (const protocol of cachingProtocols) {
    const cells: Array<string> = []
    const moves: Array<number> = []
    for (const setup of Object.values(setups)) {
      const { usd, told, accounts } = await throughGateway(session, { protocol, ...setup })
      const ratio = usd / straight(session, protocol, setup.failsAt)
      cells.push(`${ratio.toFixed(3)}${Math.abs(told / usd - 1) < 1e-6 ? "" : ` (told ${(told / usd).toFixed(3)})`}`)
      moves.push(accounts.filter((account, at) => at > 0 && account !== accounts[at - 1]).length)
    }
    const base = straight(session, protocol).toFixed(4)
    process.stdout.write(`| ${session.name} | ${protocol} | ${base} | ${cells.join(" | ")} | ${moves.join(", ")} |\n`)
  }
