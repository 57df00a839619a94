#!/usr/bin/env bun
/** Runs the program from its bundle, which loads four times as fast, or from its sources where there is no bundle of them. */
import { bundleOf } from "./bundle.ts"

const { run } = await import(bundleOf(new URL("../", import.meta.url)) ?? "./program.ts")

await run(process.argv.slice(2))
