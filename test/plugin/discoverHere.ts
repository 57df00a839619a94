/**
 * A process for discover.test.ts. Modules are registered for a whole process, so the test needs a separate one. It
 * finds the plugins below the working directory, then those of the repository, and prints what it found.
 */
import { readdir } from "node:fs/promises"
import { resolve } from "node:path"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import { HostFailed } from "../../src/domain/failures/Failure.ts"
import { discover } from "../../src/plugin/loading/discover.ts"

const folders = (await readdir(".")).map((name) => resolve(name))
const here = await Effect.runPromise(discover(folders))
const own = await Effect.runPromise(discover([new URL("../../plugins", import.meta.url).pathname]))
const [acme] = here.plugins
if (acme?.kind !== "provider") throw new Error("the provider was not found")
const [loaded, refused] = [acme.load({}), acme.load({ nobody: 1 })]

process.stdout.write(
  JSON.stringify({
    plugins: [...here.plugins, ...own.plugins.filter(({ id }) => id === "echo")].map(({ id }) => id),
    invalid: here.invalid.map(({ message }) => message),
    ownHostFailed: Either.isRight(loaded) && (await loaded.right).error(500, new Headers(), "") instanceof HostFailed,
    ownSchema: Either.isLeft(refused) && refused.left instanceof ParseResult.ParseError,
  }),
)
