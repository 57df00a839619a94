/**
 * Carries out the Dockerfile without Docker: each stage is a folder, and its commands run in it as the root of the file system. In
 * place of the base image stand the programs and the Bun of this machine. It needs Linux and a root user who may mount.
 */
import { existsSync, lstatSync, mkdirSync, mkdtempSync, readFileSync, readlinkSync, rmSync, symlinkSync } from "node:fs"
import { cp } from "node:fs/promises"
import { homedir, tmpdir, userInfo } from "node:os"
import { isAbsolute, join, relative } from "node:path"
import { listed, root, said, stages, variables } from "./dockerfile.ts"

export interface Ended {
  readonly code: number
  readonly out: string
  readonly err: string
}

export interface Running {
  readonly err: () => string
  readonly exited: Promise<number>
  readonly kill: (signal: "SIGTERM" | "SIGKILL") => void
}

export interface Image {
  /** Where the volume of the image is on this machine. */
  readonly volume: string
  /** Puts a file into it, as a mount does. */
  readonly mount: (path: string, text: string) => Promise<unknown>
  /** Starts it as a container: its user, its variables and these, its root file system not writable but for volume and /tmp. */
  readonly start: (env: Readonly<Record<string, string>>) => Running
  /** Runs a command as in such a container. */
  readonly run: (command: string, env: Readonly<Record<string, string>>) => Promise<Ended>
  readonly remove: () => void
}

/** Why it cannot be done here. */
export const hindrance = async (): Promise<string | undefined> => {
  if (process.platform !== "linux") return "it needs Linux"
  if (userInfo().uid !== 0) return "it needs the root user"
  const { code, err } = await ended(Bun.spawn(["unshare", "-m", "true"], pipes)).catch((cause: unknown) => ({
    code: 1,
    err: String(cause),
  }))
  return code === 0 ? undefined : `it needs unshare -m: ${err.trim()}`
}

const pipes = { stdout: "pipe", stderr: "pipe" } as const

const ended = async (child: Bun.Subprocess<"ignore", "pipe", "pipe">): Promise<Ended> => {
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  return { code, out, err }
}

const path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/** Mounts this machine's programs into the folder `$r`, and `$r/../bin` with Bun in the place where the base image has it. */
const mounts = `set -e; r=$1; bun=$2; shift 2
for one in usr etc dev proc; do mount --rbind /$one $r/$one; done
mount --bind $r/../bin $r/usr/local/bin
mount --bind $bun $r/usr/local/bin/bun
`

const building = `${mounts}
home=$1; shift
mkdir -p $r$home; mount --bind $home $r$home
exec chroot $r sh -c "$1"`

const serving = `${mounts}
volume=$1; inside=$2; user=$3; shift 3
mount --rbind $r $r/../read-only
r=$r/../read-only
mount -o remount,ro,bind $r
mount --bind $volume $r$inside
mount -t tmpfs tmpfs $r/tmp
exec chroot --userspec=$user $r sh -c "$1"`

const inMounts = (script: string, words: ReadonlyArray<string>, env: Readonly<Record<string, string>>) =>
  Bun.spawn(["unshare", "-m", "sh", "-c", script, "sh", ...words], { ...pipes, env })

/** A root without files, but for the links that lead into `/usr`. */
const emptyRoot = (folder: string): void => {
  for (const name of ["usr", "etc", "dev", "proc", "tmp"]) mkdirSync(join(folder, name), { recursive: true })
  for (const name of ["bin", "sbin", "lib", "lib64"]) {
    const link = lstatSync(`/${name}`, { throwIfNoEntry: false })
    if (link?.isSymbolicLink() === true) symlinkSync(readlinkSync(`/${name}`), join(folder, name))
  }
}

const ignored = readFileSync(join(root, ".dockerignore"), "utf8")
  .split("\n")
  .filter((line) => line.startsWith("**/"))
  .map((line) => new Bun.Glob(line))

/** Carries out all stages. Throws what a command said that failed. */
export const buildImage = async (): Promise<Image> => {
  const folder = mkdtempSync(join(tmpdir(), "headgate-image-"))
  const folderOf = (name: string) => join(folder, name, "root")
  let last = ""
  for (const [at, { name, instructions }] of stages.entries()) {
    last = name === "" ? `stage-${at}` : name
    const here = folderOf(last)
    emptyRoot(here)
    for (const beside of ["bin", "read-only"]) mkdirSync(join(here, "..", beside))
    await Bun.write(join(here, "..", "bin", "bun"), "")
    let working = "/"
    for (const { name: word, value } of instructions) {
      if (word === "WORKDIR") {
        working = value
        mkdirSync(join(here, working), { recursive: true })
      }
      if (word === "COPY") {
        const [option = "", ...others] = value.split(/\s+/)
        const from = /^--from=(.*)$/.exec(option)?.[1]
        const paths = from === undefined ? [option, ...others] : others
        const to = paths.at(-1) ?? ""
        for (const source of paths.slice(0, -1)) {
          const given = from === undefined ? join(root, source) : join(folderOf(from), source)
          const placed = join(here, isAbsolute(to) ? to : join(working, to), to.endsWith("/") ? source : "")
          const isWanted = (file: string) =>
            from !== undefined || !ignored.some((glob) => glob.match(relative(root, file)))
          await cp(given, placed, { recursive: true, filter: isWanted, verbatimSymlinks: true })
        }
      }
      if (word === "RUN") {
        const words = [here, process.execPath, homedir(), `cd ${working} && ${value}`]
        const { code, out, err } = await ended(inMounts(building, words, { ...process.env, PATH: path }))
        if (code !== 0) throw new Error(`RUN ${value}: ${out}${err}`)
      }
    }
  }
  const here = folderOf(last)
  const inside = said("VOLUME")
  const volume = join(folder, "volume")
  // An engine gives a new volume the content and the owner of the folder of the image.
  Bun.spawnSync(["cp", "-a", join(here, inside), volume])
  const contained = (command: string, env: Readonly<Record<string, string>>) =>
    inMounts(serving, [here, process.execPath, volume, inside, said("USER"), `cd ${said("WORKDIR")} && ${command}`], {
      PATH: path,
      ...variables,
      ...env,
    })
  return {
    volume,
    mount: (path, text) => Bun.write(join(here, path), text),
    start: (env) => {
      let err = ""
      const child = contained(`exec ${[...listed("ENTRYPOINT"), ...listed("CMD")].join(" ")}`, env)
      const read = (async () => {
        const decoder = new TextDecoder()
        for await (const bytes of child.stderr) err += decoder.decode(bytes, { stream: true })
      })()
      void new Response(child.stdout).text()
      return {
        err: () => err,
        exited: Promise.all([child.exited, read]).then(([code]) => code),
        kill: (signal) => child.kill(signal),
      }
    },
    run: (command, env) => ended(contained(command, env)),
    remove: () => {
      if (existsSync(folder)) rmSync(folder, { recursive: true, force: true })
    },
  }
}
