/** An app outside of this repository, with the packed gateway among its packages. */
import { mkdir, mkdtemp, open, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join, relative, resolve } from "node:path"

const root = resolve(import.meta.dir, "../../..")

export interface Ran {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs a command to its end. */
export const ran = async (command: ReadonlyArray<string>, cwd: string): Promise<Ran> => {
  const child = Bun.spawn([...command], { cwd, stdout: "pipe", stderr: "pipe", env: { ...process.env, NO_COLOR: "1" } })
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  return { code, stdout, stderr }
}

const succeeded = async (command: ReadonlyArray<string>, cwd: string): Promise<string> => {
  const { code, stdout, stderr } = await ran(command, cwd)
  if (code !== 0) throw new Error(`${command.join(" ")} ended with ${code}:\n${stdout}${stderr}`)
  return stdout
}

/** Packs this gateway into `file`. The fastest compression is used, since the file is unpacked at once. */
export const packGateway = async (file: string): Promise<void> => {
  const lock = join(root, "node_modules/.cache/packing")
  await mkdir(dirname(lock), { recursive: true })
  await takeLock(lock)
  try {
    await succeeded([process.execPath, "pm", "pack", "--quiet", "--gzip-level", "1", "--filename", file], root)
  } finally {
    await rm(lock)
  }
}

/** Packing removes `dist` and builds it anew, so one process packs at a time. A lock whose process is gone is removed. */
const takeLock = async (lock: string): Promise<void> => {
  for (;;) {
    try {
      const file = await open(lock, "wx")
      await file.writeFile(String(process.pid))
      await file.close()
      return
    } catch {
      const pid = Number(await readFile(lock, "utf8").catch(() => ""))
      if (pid > 0 && !isRunning(pid)) await rm(lock, { force: true })
      await Bun.sleep(100)
    }
  }
}

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

export interface PackedApp {
  readonly folder: string
  /** Paths of the files in the tarball. */
  readonly packed: ReadonlyArray<string>
  readonly write: (file: string, text: string) => Promise<void>
  readonly run: (...command: ReadonlyArray<string>) => Promise<Ran>
}

/**
 * Packs the gateway and unpacks it into a new app. Its own dependencies and peers, and `others`, are linked from this
 * repository, since a test has no registry; it finds no other package, so that an undeclared one is missed.
 */
export const makePackedApp = async (others: ReadonlyArray<string>): Promise<PackedApp> => {
  const folder = await mkdtemp(join(tmpdir(), "headgate-app-"))
  const tarball = "headgate.tgz"
  await packGateway(join(folder, tarball))
  const modules = join(folder, "node_modules")
  const package_ = join(modules, "headgate")
  await mkdir(package_, { recursive: true })
  await succeeded(["tar", "xzf", join(folder, tarball), "--strip-components=1", "-C", package_], folder)
  await rm(join(folder, tarball))
  const unpacked = await readdir(package_, { recursive: true, withFileTypes: true })
  const { dependencies, peerDependencies } = await Bun.file(join(package_, "package.json")).json()
  for (const name of new Set([...Object.keys({ ...dependencies, ...peerDependencies }), ...others])) {
    await mkdir(dirname(join(modules, name)), { recursive: true })
    await symlink(join(root, "node_modules", name), join(modules, name))
  }
  return {
    folder,
    packed: unpacked.filter((one) => one.isFile()).map((one) => relative(package_, join(one.parentPath, one.name))),
    write: async (file, text) => {
      await mkdir(dirname(join(folder, file)), { recursive: true })
      await writeFile(join(folder, file), text)
    },
    run: (...command) => ran(command, folder),
  }
}
