/** Reads the Dockerfile. */
import { readFileSync } from "node:fs"
import { join, resolve } from "node:path"

export const root = resolve(import.meta.dir, "../..")

export interface Instruction {
  readonly name: string
  readonly value: string
}

export interface Stage {
  readonly name: string
  readonly base: string
  readonly instructions: ReadonlyArray<Instruction>
}

const instructions: ReadonlyArray<Instruction> = readFileSync(join(root, "Dockerfile"), "utf8")
  .replace(/^\s*#.*\n/gm, "")
  .replace(/\\\n/g, " ")
  .split("\n")
  .filter((line) => line.trim() !== "")
  .map((line) => {
    const [, name = "", value = ""] = /^(\S+)\s+(.*)$/.exec(line) ?? []
    return { name, value }
  })

export const stages: ReadonlyArray<Stage> = instructions.flatMap(({ name, value }, at) => {
  if (name !== "FROM") return []
  const [base = "", , called = ""] = value.split(/\s+/)
  const rest = instructions.slice(at + 1)
  const next = rest.findIndex((one) => one.name === "FROM")
  return [{ name: called, base, instructions: next < 0 ? rest : rest.slice(0, next) }]
})

/** What the last stage says, the last time. */
export const said = (name: string): string =>
  stages.at(-1)?.instructions.findLast((instruction) => instruction.name === name)?.value ?? ""

/** The words of an instruction in the form of a list. */
export const listed = (name: string): ReadonlyArray<string> => JSON.parse(said(name)) as Array<string>

/** The variables that the image sets. */
export const variables: Readonly<Record<string, string>> = Object.fromEntries(
  said("ENV")
    .split(/\s+/)
    .map((pair) => {
      const at = pair.indexOf("=")
      return [pair.slice(0, at), pair.slice(at + 1)]
    }),
)
