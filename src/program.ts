/**
 * The program `headgate`: the gateway itself, without arguments or with `serve`; else one of the commands in `cli`. Either is
 * loaded only when it is asked for.
 */
import { isBundled } from "./inBundle.ts"

/** `words`: the arguments of the program. */
export const run = async (words: ReadonlyArray<string>): Promise<void> => {
  const asked = words[0] === "--" ? words.slice(1) : words
  if (asked.length === 0 || (asked.length === 1 && asked[0] === "serve")) {
    if (!isBundled) await import("./sql/withoutFastCheck.ts")
    await import("./serve.ts")
  } else {
    const commands = await import("./cli/run.ts")
    await commands.run(asked)
  }
}
