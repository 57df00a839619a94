/** Prints what the strategies cost on simulated days of conversations: the table of docs/strategies.md. */
import { rows, table } from "../test/support/gateways/savings.ts"

process.stdout.write(`${table(await rows())}\n`)
