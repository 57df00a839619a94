/**
 * What lives at module level is shared by all gateways of a process, so nothing of a gateway may. docs/decisions/0062-two-kinds-of-code.md
 * has what is left, and why.
 */
import { expect, test } from "bun:test"
import { basename } from "node:path"
import { Glob } from "bun"

/** Written once, while the module is loaded. */
const constants = ["Histogram.ts none", "installedCatalogue.ts none", "JsonScan.ts kinds", "ownProtocols.ts own"]

/** Results of pure functions: of objects that one gateway alone has and that do not change, or of texts, bounded. */
const memos = [
  "configFile.ts modulesOf",
  "hostFacts.ts hosts",
  "hostFacts.ts models",
  "hostFacts.ts sets",
  "hostListing.ts listings",
  "multiplying.ts kindOf",
  "names.ts ruleOfName",
  "numberList.ts unread",
  "walk.ts meaningOf",
  "price.ts known",
  "price.ts multiplied",
  "rankBy.ts prices",
  "reservation.ts rough",
  "withoutSecrets.ts searched",
]

/** Facts of the process itself: its event loop, its registered modules, ids that are unique within it, a thread started ahead. */
const processes = [
  "ids.ts idText",
  "ids.ts idTextAt",
  "ids.ts pool",
  "ids.ts poolAt",
  "resolve.ts registered",
  "running.ts numbers",
  "running.ts onName",
  "running.ts shared",
  "startAhead.ts threadAhead",
  "turns.ts isScheduled",
  "turns.ts waiting",
]

/** Set while one configuration is decoded, and put back after it; or while one number is written. */
const scopes = ["Secret.ts readInto", "Secret.ts takesUnset", "floatText.ts bits", "floatText.ts scratch"]

const declaration =
  /^(?:export )?(?:let (\w+)|const (\w+)(?:: (?!Readonly).*)? = (?:new (?:Weak)?(?:Map|Set)(?:<.*>)?\(\)|\[\]|remembered\(|new (?:\w*Array|ThreadAhead)\())/

/** Those of a thread's own module are of that thread alone. */
const isOfThread = (file: string): boolean => /Thread\.ts$/.test(file) && !file.endsWith("/startThread.ts")

test("no module has state of a gateway", async () => {
  const found: Array<string> = []
  for (const file of new Glob("src/**/*.ts").scanSync()) {
    if (isOfThread(file)) continue
    for (const line of (await Bun.file(file).text()).split("\n")) {
      const [, changing, constant] = declaration.exec(line) ?? []
      const name = changing ?? constant
      if (name !== undefined) found.push(`${basename(file)} ${name}`)
    }
  }
  expect(found.toSorted()).toEqual([...constants, ...memos, ...processes, ...scopes].toSorted())
})
