/**
 * Where the console and its API are. A gateway that is embedded below a prefix serves the console there, too, so the base is read from
 * the address of this script: `/prefix/console/assets/….js`.
 */
const scriptPath = new URL(import.meta.url).pathname
const at = scriptPath.lastIndexOf("/assets/")

/** "/console", without a slash at its end. */
export const base = at < 0 ? "/console" : scriptPath.slice(0, at)

/** "" or the prefix. */
export const prefix = base.replace(/\/console$/, "")

export const apiBase = `${prefix}/api/v1`
