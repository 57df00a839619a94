/**
 * Folders into which Bun installs the packed gateway and packed plugins, as a user does. No registry is asked: the lock names the versions of this
 * repository's own lock, which are in Bun's cache since this repository was installed.
 */
import { join, resolve } from "node:path"
import { isJsonObject } from "../../../src/domain/json/json.ts"
import { type Ran, ran } from "./packedApp.ts"

const root = resolve(import.meta.dir, "../../..")

/** Runs a command to its end, and throws what it says when it fails. */
export const succeeded = async (command: ReadonlyArray<string>, cwd: string): Promise<Ran> => {
  const result = await ran(command, cwd)
  if (result.code !== 0) {
    throw new Error(`${command.join(" ")} ended with ${result.code}:\n${result.stdout}${result.stderr}`)
  }
  return result
}

/** A package that is installed from a file: its path from the folder, and its package.json. */
export interface PackedFile {
  readonly path: string
  readonly manifest: unknown
}

/** Installs what the package.json of `folder` asks for, with a lock that has these packages by their files. */
export const installFiles = async (folder: string, files: Readonly<Record<string, PackedFile>>): Promise<void> => {
  const lock = Bun.JSONC.parse(await Bun.file(join(root, "bun.lock")).text())
  if (!isJsonObject(lock) || !isJsonObject(lock["packages"])) throw new Error("bun.lock has no packages")
  const { name, dependencies, devDependencies, peerDependencies } = await Bun.file(join(folder, "package.json")).json()
  const packed = Object.entries(files).map(([file, { path, manifest }]) => [file, [`${file}@${path}`, manifest]])
  const text = JSON.stringify({
    lockfileVersion: lock["lockfileVersion"],
    configVersion: lock["configVersion"],
    workspaces: { "": { name, dependencies, devDependencies, peerDependencies } },
    packages: { ...lock["packages"], ...Object.fromEntries(packed) },
  })
  await Bun.write(join(folder, "bun.lock"), text)
  // A registry that is nowhere, so that a version that the lock lacks is missed.
  const nowhere = "http://127.0.0.1:1"
  const install = ["env", `HTTP_PROXY=${nowhere}`, `HTTPS_PROXY=${nowhere}`, process.execPath, "install"]
  await succeeded([...install, "--ignore-scripts"], folder)
}
