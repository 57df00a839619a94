/**
 * The types that plugin authors compile against, compared with a kept copy of them. `bun scripts/keptTypes.ts` writes that copy anew, which is part
 * of a release; `test/package/keptTypes.test.ts` compares. See docs/decisions/0094-kept-types.md
 */
import { readFileSync, writeFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
// TypeScript 7 has no API for its checker yet.
import ts from "typescript-5.9"

const root = resolve(import.meta.dir, "..")
const copy = join(root, "test/package/keptTypes.txt")
/** Where the compiler is told that the copy is: beside the sources, so that it finds the same `effect`. */
const keptRoot = join(root, ".kept-types")

/** Entry points of the package by the names that authors import, as paths without an extension. */
const entries = { "headgate/plugin": "src/plugin", "headgate/testing": "src/testing" }

/**
 * What authors give to functions that make plugins, before and now. Plugins are the gateway's to call, so what they are made of may take more than
 * before: a `RankContext` with another member is no finding.
 */
const definitionsFile = join(keptRoot, "definitions.ts")
const definitions = `
import type * as Then from "./src/plugin.d.ts"
import type * as Now from "../src/plugin.ts"
interface Own { readonly some: string }
export interface Definitions {
  readonly defineProvider: [Then.ProviderDefinition<Own, Own, Then.Provider>, Now.ProviderDefinition<Own, Own, Now.Provider>]
  readonly defineStrategy: [Then.StrategyDefinition<Own, Own>, Now.StrategyDefinition<Own, Own>]
  readonly chatHost: [Then.ChatHost, Now.ChatHost]
}
`

const optionsOf = (): ts.CompilerOptions => {
  const { config } = ts.readConfigFile(join(root, "tsconfig.json"), ts.sys.readFile)
  return ts.parseJsonConfigFileContent(config, ts.sys, root).options
}

const marker = /^\/\/ file: (\S+)\n/m

/** Declarations by path, from the copy. */
export const readKept = (): ReadonlyMap<string, string> => {
  const parts = readFileSync(copy, "utf8").split(marker).slice(1)
  return new Map(parts.flatMap((path, at) => (at % 2 === 0 ? [[path, parts[at + 1] ?? ""] as const] : [])))
}

/** The declarations of the sources that the entry points lead to, without comments, by path. */
const declarations = (): ReadonlyMap<string, string> => {
  const options = {
    ...optionsOf(),
    ...{ noEmit: false, noCheck: true, declaration: true, emitDeclarationOnly: true, removeComments: true },
  }
  const program = ts.createProgram(
    Object.values(entries).map((entry) => join(root, `${entry}.ts`)),
    options,
  )
  const found = new Map<string, string>()
  const waiting = Object.values(entries)
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const source = program.getSourceFile(join(root, `${path}.ts`))
    if (found.has(path) || source === undefined) continue
    let written = ""
    program.emit(source, (_, text) => {
      written = text
    })
    found.set(path, written)
    for (const [, named = ""] of written.matchAll(/(?:from|import\(|import) ?"(\.[^"]+)\.ts"/g)) {
      waiting.push(join(dirname(path), named))
    }
  }
  return new Map([...found].toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

/** Both sides in one program. `changed`: sources, by path from the root, in place of those on disk. */
const programOf = (
  kept: ReadonlyMap<string, string>,
  changed: ReadonlyMap<string, string>,
  before?: ts.Program,
): ts.Program => {
  const options = { ...optionsOf(), noEmit: true }
  const host = ts.createCompilerHost(options)
  const given = new Map<string, string>()
  for (const [path, text] of kept) given.set(join(keptRoot, `${path}.d.ts`), text)
  given.set(definitionsFile, definitions)
  for (const [path, text] of changed) given.set(join(root, path), text)
  const { readFile, fileExists, getSourceFile, directoryExists } = host
  host.readFile = (file) => given.get(file) ?? readFile(file)
  host.fileExists = (file) => given.has(file) || fileExists(file)
  host.directoryExists = (folder) => folder.startsWith(keptRoot) || directoryExists?.(folder) === true
  host.getSourceFile = (file, version, ...rest) => {
    const text = given.get(file)
    if (text !== undefined) return ts.createSourceFile(file, text, version)
    return before?.getSourceFile(file) ?? getSourceFile(file, version, ...rest)
  }
  const names = Object.values(entries)
  return ts.createProgram(
    [
      definitionsFile,
      ...names.map((entry) => join(root, `${entry}.ts`)),
      ...names.map((entry) => join(keptRoot, `${entry}.d.ts`)),
    ],
    options,
    host,
  )
}

export interface Compared {
  /** What of the copy is gone or has become less, a sentence each. */
  readonly findings: ReadonlyArray<string>
  /** Names that the entry points have in the copy. */
  readonly names: ReadonlyArray<string>
  /** Its sources need not be read again. */
  readonly program: ts.Program
}

/** Compares the sources, with `changed` in place of some, with the copy. */
export const compareWithKept = (changed: ReadonlyMap<string, string> = new Map(), before?: ts.Program): Compared => {
  const program = programOf(readKept(), changed, before)
  const compared = Object.entries(entries).map(([name, entry]) => new Entry(program, name, entry).compare())
  return {
    findings: compared.flatMap(({ findings }) => findings),
    names: compared.flatMap(({ names }) => names),
    program,
  }
}

/** One entry point in both versions. */
class Entry {
  private readonly checker: ts.TypeChecker
  private readonly findings: Array<string> = []
  /** Types of the copy that were compared. */
  private readonly seen = new Set<ts.Type>()
  private readonly program: ts.Program
  private readonly name: string
  private readonly entry: string

  constructor(program: ts.Program, name: string, entry: string) {
    this.program = program
    this.checker = program.getTypeChecker()
    this.name = name
    this.entry = entry
  }

  compare(): Pick<Compared, "findings" | "names"> {
    const kept = this.exportsOf(join(keptRoot, `${this.entry}.d.ts`))
    const now = this.exportsOf(join(root, `${this.entry}.ts`))
    for (const [name, before] of kept) {
      const after = now.get(name)
      if (after === undefined) this.found(name, "is gone")
      else this.compareSymbols(name, before, after)
    }
    return { findings: this.findings, names: [...kept.keys()] }
  }

  private found(name: string, what: string): void {
    this.findings.push(`${this.name}: ${name} ${what}`)
  }

  /** The two types of `definitions`, for a function that makes plugins. */
  private definition(name: string): ReadonlyArray<ts.Type> {
    const symbol = this.exportsOf(definitionsFile).get("Definitions")
    const member = symbol && this.checker.getDeclaredTypeOfSymbol(symbol).getProperty(name)
    const pair = member && this.checker.getTypeOfSymbol(member)
    return pair !== undefined && isReference(pair) ? this.checker.getTypeArguments(pair) : []
  }

  private exportsOf(file: string): ReadonlyMap<string, ts.Symbol> {
    const source = this.program.getSourceFile(file)
    const module = source === undefined ? undefined : this.checker.getSymbolAtLocation(source)
    if (module === undefined) throw new Error(`${file} is no module`)
    return new Map(
      this.checker
        .getExportsOfModule(module)
        .map((symbol) => [
          symbol.name,
          symbol.flags & ts.SymbolFlags.Alias ? this.checker.getAliasedSymbol(symbol) : symbol,
        ]),
    )
  }

  private compareSymbols(name: string, before: ts.Symbol, after: ts.Symbol): void {
    const both = (flag: ts.SymbolFlags) => (before.flags & flag) !== 0 && (after.flags & flag) !== 0
    for (const [flag, what] of [
      [ts.SymbolFlags.Value, "is no value any more"],
      [ts.SymbolFlags.Type, "is no type any more"],
    ] as const) {
      if ((before.flags & flag) !== 0 && (after.flags & flag) === 0) this.found(name, what)
    }
    // A value takes what it took and gives what it gave: types of parameters are compared the other way round.
    if (both(ts.SymbolFlags.Value)) {
      const [then, now] = [this.checker.getTypeOfSymbol(before), this.checker.getTypeOfSymbol(after)]
      const [given, taken] = this.definition(name)
      const isAsBefore =
        given === undefined || taken === undefined
          ? this.checker.isTypeAssignableTo(now, then)
          : this.checker.isTypeAssignableTo(given, taken)
      if (!isAsBefore) this.found(name, this.change(then, now))
    }
    if (both(ts.SymbolFlags.Type)) {
      this.compareMembers(
        name,
        this.checker.getDeclaredTypeOfSymbol(before),
        this.checker.getDeclaredTypeOfSymbol(after),
      )
    }
  }

  /**
   * A type may be given by authors or to them, which the values tell. For itself it keeps its members, with types of which one takes the other, and
   * its alternatives.
   */
  private compareMembers(name: string, then: ts.Type, now: ts.Type): void {
    if (this.seen.has(then)) return
    this.seen.add(then)
    for (const part of partsOf(then)) {
      if (part.isLiteral() && !this.checker.isTypeAssignableTo(part, now)) {
        this.found(name, `has no ${this.checker.typeToString(part)} any more`)
      }
    }
    const members = this.membersOf(now)
    for (const [member, before] of this.membersOf(then)) {
      const after = members.get(member)
      if (after === undefined) this.found(`${name}.${member}`, "is gone")
      else if (!this.fit(before, after)) this.found(`${name}.${member}`, this.change(before, after))
      else this.compareWithin(`${name}.${member}`, before, after)
    }
  }

  /** Types without a name of their own, or that no entry point has: within lists, parameters and results too. */
  private compareWithin(name: string, then: ts.Type, now: ts.Type): void {
    if (partsOf(then).some((part) => isKept(part))) {
      this.compareMembers(name, then, now)
      return
    }
    const inner = this.within(then)
    const others = this.within(now)
    if (inner.length === 0 || inner.length !== others.length || this.seen.has(then)) return
    this.seen.add(then)
    for (const [at, other] of others.entries()) {
      const one = inner[at]
      if (one !== undefined) this.compareWithin(name, one, other)
    }
  }

  private within(type: ts.Type): ReadonlyArray<ts.Type> {
    const { checker } = this
    return partsOf(type).flatMap((part) => [
      ...(isReference(part) ? checker.getTypeArguments(part) : []),
      ...checker
        .getSignaturesOfType(part, ts.SignatureKind.Call)
        .flatMap((signature) => [
          ...signature.parameters.map((parameter) => checker.getTypeOfSymbol(parameter)),
          signature.getReturnType(),
        ]),
    ])
  }

  private fit(then: ts.Type, now: ts.Type): boolean {
    // A parameter of a generic type is another one in each of the two declarations.
    if (this.checker.typeToString(then) === this.checker.typeToString(now)) return true
    return this.checker.isTypeAssignableTo(then, now) || this.checker.isTypeAssignableTo(now, then)
  }

  /** The members of a type, and of all alternatives of a union. */
  private membersOf(type: ts.Type): ReadonlyMap<string, ts.Type> {
    const members = partsOf(type)
      .filter((part) => (part.flags & ts.TypeFlags.Object) !== 0 || part.isIntersection())
      .flatMap((part) => this.checker.getPropertiesOfType(part))
    return new Map(members.map((member) => [member.name, this.checker.getTypeOfSymbol(member)]))
  }

  private change(then: ts.Type, now: ts.Type): string {
    return `was\n    ${this.checker.typeToString(then)}\n  and is\n    ${this.checker.typeToString(now)}`
  }
}

/** Whether the copy declares it, and as more than the type of a function. */
const isKept = (type: ts.Type): boolean =>
  type.getCallSignatures().length === 0 &&
  type.symbol?.declarations?.some((each) => each.getSourceFile().fileName.startsWith(keptRoot)) === true

const isReference = (type: ts.Type): type is ts.TypeReference =>
  // Of the flags of object types, which others do not have.
  (type.flags & ts.TypeFlags.Object) !== 0 && ((type as ts.ObjectType).objectFlags & ts.ObjectFlags.Reference) !== 0

const partsOf = (type: ts.Type): ReadonlyArray<ts.Type> => (type.isUnion() ? type.types : [type])

if (import.meta.main) {
  const files = declarations()
  writeFileSync(copy, [...files].map(([path, text]) => `// file: ${path}\n${text}`).join(""))
  process.stdout.write(`${files.size} files in ${copy}\n`)
}
