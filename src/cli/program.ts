/**
 * The program `headgate`: the gateway itself, without a command or with `serve`; else one of the commands in `cli`. Either is
 * loaded only when it is asked for.
 */
import { compileLess } from "../app/compiling.ts"
import { overridesToServe } from "../app/serveFlags.ts"
import { isBundled } from "../process/inBundle.ts"

/** `words`: the arguments of the program. */
export const run = async (words: ReadonlyArray<string>): Promise<void> => {
  compileLess()
  const asked = words[0] === "--" ? words.slice(1) : words
  const overrides = overridesToServe(asked)
  if (overrides === undefined) {
    const commands = await import("./run.ts")
    return commands.run(asked)
  }
  if (!isBundled) await import("../sql/withoutFastCheck.ts")
  const { serve } = await import("../app/serve.ts")
  serve(overrides)
}
