/**
 * Runs the long campaigns: what the tests do a few times, done many times; the seeded defects; and the tests on a machine that is made
 * unsteady. `bun run check` goes first.
 *
 *     bun scripts/checkFull.ts [SECONDS]
 *
 * Where SECONDS are given, only those campaigns are run that end in that time; the others are named. Exits with 1 when one has failed.
 * See docs/decisions/0056-how-the-suite-runs.md.
 */

interface Campaign {
  readonly name: string
  /** Arguments of Bun. */
  readonly command: ReadonlyArray<string>
  readonly env?: Readonly<Record<string, string>>
  /** Seconds that it takes on two cores; of one that ends when it is told to, the least that is worth starting it. */
  readonly seconds: number
  readonly endsInTime?: boolean
}

const tests = (name: string, env: Readonly<Record<string, string>>, seconds: number, files: ReadonlyArray<string>) => ({
  name,
  command: ["scripts/test.ts", ...files.map((file) => `./test/${file}.test.ts`)],
  env,
  seconds,
})

const campaigns: ReadonlyArray<Campaign> = [
  tests("the gateway is killed ten times in each test of it", { TEST_KILL_ROUNDS: "10" }, 45, [
    ...["http/lifecycle/crash", "http/lifecycle/lifecycle", "http/storage/postgres"],
  ]),
  tests("20,000 bodies of the API's description", { SCHEMA_RUNS: "20000" }, 40, ["http/openapi/chat"]),
  tests("fifty bursts at several gateways", { REPLICA_ROUNDS: "50" }, 120, ["http/storage/replicas"]),
  tests("fifty rounds over 1,000 hosts and 1,000 keys", { TEST_RING_ROUNDS: "50" }, 40, ["adversarial/ring"]),
  {
    name: "the seeded defects",
    command: ["scripts/mutants.ts"],
    seconds: 30,
    endsInTime: true,
  },
  ...[1, 2, 3].map((seed) => ({
    name: `an unsteady machine, seed ${seed}`,
    command: ["scripts/stress.ts", String(seed)],
    seconds: 420,
  })),
]

const bound = process.argv[2] === undefined ? Number.POSITIVE_INFINITY : Number(process.argv[2])
const secondsLeft = () => bound - performance.now() / 1000

const say = (line: string) => process.stdout.write(`${line}\n`)

const run = async ({ command, env, endsInTime = false }: Campaign): Promise<number> => {
  const bounds =
    endsInTime && bound !== Number.POSITIVE_INFINITY ? ["--seconds", String(Math.floor(secondsLeft()))] : []
  const child = Bun.spawn([process.execPath, ...command, ...bounds], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "inherit", "inherit"],
  })
  return child.exited
}

const failed: Array<string> = []
const leftOut: Array<string> = []
for (const campaign of campaigns) {
  if (secondsLeft() < campaign.seconds) {
    leftOut.push(campaign.name)
    continue
  }
  say(`\nCampaign: ${campaign.name}`)
  const code = await run(campaign)
  if (code !== 0) failed.push(campaign.name)
}
say("")
for (const name of leftOut) say(`Campaign without a result: ${name}`)
for (const name of failed) say(`Campaign failed: ${name}`)
say(`Campaigns: ${campaigns.length - failed.length - leftOut.length} of ${campaigns.length} passed.`)
process.exit(failed.length === 0 ? 0 : 1)
