/** Finds out whether a gateway could open a SQLite file, without changing it: writes nothing and creates no journal. */
import { Database, constants as modes } from "bun:sqlite"
import { accessSync, constants, existsSync, statSync } from "node:fs"
import { dirname } from "node:path"
import { pathToFileURL } from "node:url"
import { sqliteCode } from "../failure.ts"
import { lacksOpen } from "../files/closedFile.ts"
import { applicationId } from "./sqliteFile.ts"

export type Probed =
  | { readonly state: "ready" }
  | { readonly state: "absent" }
  /** `pid`: of the gateway that has it open. */
  | { readonly state: "in-use"; readonly pid: number }
  | { readonly state: "unwritable"; readonly why: string }
  | { readonly state: "corrupt"; readonly why: string }

export const probeFile = (path: string): Probed => {
  const pid = gatewayUsing(path)
  if (pid !== undefined) return { state: "in-use", pid }
  const folderFault = probeFolder(dirname(path))
  if (folderFault !== undefined) return { state: "unwritable", why: folderFault }
  if (!existsSync(path)) return { state: "absent" }
  const fault = faultOf(path, statSync(path).isFile() ? undefined : "it is no file")
  if (fault !== undefined) return { state: "unwritable", why: fault }
  const stranger = strangerIn(path)
  return stranger === undefined ? { state: "ready" } : { state: "corrupt", why: stranger }
}

/** The gateway that uses the database at this path, which may be absent; `undefined`: none does. */
export const gatewayUsing = (path: string): number | undefined => holderOf(`${path}.lock`)

/** Why a folder cannot be made or written; `undefined`: it can. */
export const probeFolder = (path: string): string | undefined => {
  const folder = nearestFolder(path)
  return faultOf(folder, statSync(folder).isDirectory() ? undefined : "it is no folder")
}

/** The gateway that has another file open than the one at this path, which was removed or replaced; as far as can be found out. */
export const strandedGateway = (path: string): number | undefined => {
  const pid = gatewayUsing(path)
  return pid !== undefined && lacksOpen(pid, path) === true ? pid : undefined
}

/** The process that has the lock, which is a SQLite file of its own: a running gateway has a transaction open in it. */
const holderOf = (lock: string): number | undefined => {
  if (!existsSync(lock)) return undefined
  let db: Database | undefined
  try {
    db = new Database(lock, { readwrite: true, create: false })
    db.run("BEGIN IMMEDIATE")
    db.run("ROLLBACK")
    return undefined
  } catch (error) {
    if (sqliteCode(error)?.startsWith("SQLITE_BUSY") !== true) return undefined
    return db?.query<{ user_version: number }, []>("PRAGMA user_version").get()?.user_version
  } finally {
    db?.close()
  }
}

/** The folder itself, or the one in which it would be made. */
const nearestFolder = (folder: string): string => (existsSync(folder) ? folder : nearestFolder(dirname(folder)))

const faultOf = (path: string, kind: string | undefined): string | undefined => {
  if (kind !== undefined) return `${path}: ${kind}`
  try {
    accessSync(path, constants.R_OK | constants.W_OK)
    return undefined
  } catch (error) {
    const isReadOnly = error instanceof Error && "code" in error && error.code === "EROFS"
    return `${path}: ${isReadOnly ? "the file system is read-only" : "this user may not write there"}`
  }
}

/** Why a file is not ours. It is opened as immutable, so SQLite neither creates nor reads a journal beside it. */
const strangerIn = (path: string): string | undefined => {
  if (statSync(path).size === 0) return undefined
  const db = new Database(`${pathToFileURL(path)}?immutable=1`, modes.SQLITE_OPEN_READONLY | modes.SQLITE_OPEN_URI)
  try {
    const owner = db.query<{ application_id: number }, []>("PRAGMA application_id").get()
    return owner?.application_id === applicationId ? undefined : "it belongs to another program"
  } catch (error) {
    if (sqliteCode(error) !== "SQLITE_NOTADB") throw error
    return "it is no database"
  } finally {
    db.close()
  }
}
