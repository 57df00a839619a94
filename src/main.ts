#!/usr/bin/env bun
/**
 * The program `headgate`: the gateway itself, without a command or with `serve`; else one of the commands in `cli`. Either is
 * loaded only when it is asked for.
 */
import { overridesToServe } from "./serveFlags.ts"

const [first, ...words] = process.argv.slice(2)
const asked = first === "--" || first === undefined ? words : [first, ...words]
const overrides = overridesToServe(asked)

if (overrides === undefined) await import("./cli/run.ts").then(({ run }) => run(asked))
else {
  await import("./sql/withoutFastCheck.ts")
  await import("./serve.ts").then(({ serve }) => serve(overrides))
}
