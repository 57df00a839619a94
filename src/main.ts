#!/usr/bin/env bun
/**
 * The program `headgate`: the gateway itself, without arguments or with `serve`; else one of the commands in `cli`. Either is
 * loaded only when it is asked for.
 */
const [first, ...words] = process.argv.slice(2)
const asked = first === "--" || first === undefined ? words : [first, ...words]

if (asked.length === 0 || (asked.length === 1 && asked[0] === "serve")) {
  await import("./sql/withoutFastCheck.ts")
  await import("./serve.ts")
} else await import("./cli/run.ts").then(({ run }) => run(asked))
