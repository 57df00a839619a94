#!/usr/bin/env bun
/** Runs the program from its bundle, which loads four times as fast, or from its sources where there is no bundle of them. */
import { bundleOf } from "./app/bundle.ts"

const { run } = await import(bundleOf(new URL("../", import.meta.url)) ?? "./cli/program.ts")

await run(process.argv.slice(2))
