/** Loaded before the tests of a plugin, in a process of their own: makes the gateway's modules importable from its folder. */
import { registerModules } from "./resolve.ts"

const folder = process.env["HEADGATE_PLUGIN_FOLDER"]
if (folder !== undefined) await registerModules([folder])
