/**
 * The program `headgate`: the gateway itself, without a command or with `serve`; else one of the commands in `cli`. Either is
 * loaded only when it is asked for.
 */
import { compileLess } from "./compiling.ts"
import { isBundled } from "./inBundle.ts"
import { overridesToServe } from "./serveFlags.ts"

/** `words`: the arguments of the program. */
export const run = async (words: ReadonlyArray<string>): Promise<void> => {
  const asked = words[0] === "--" ? words.slice(1) : words
  const overrides = overridesToServe(asked)
  if (overrides === undefined) {
    const commands = await import("./cli/run.ts")
    return commands.run(asked)
  }
  compileLess()
  if (!isBundled) await import("./sql/withoutFastCheck.ts")
  const { serve } = await import("./serve.ts")
  serve(overrides)
}
