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

/** Types that authors write out although a hook gets one as well, so that a member that is always there is theirs to give. */
const written: ReadonlySet<string> = new Set(["ListedModel", "ListedHost"])

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
    let declared = ""
    program.emit(source, (_, text) => {
      declared = text
    })
    found.set(path, declared)
    for (const [, named = ""] of declared.matchAll(/(?:from|import\(|import) ?"(\.[^"]+)\.ts"/g)) {
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
    [...names.map((entry) => join(root, `${entry}.ts`)), ...names.map((entry) => join(keptRoot, `${entry}.d.ts`))],
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
  const kept = readKept()
  const first = programOf(kept, changed, before)
  const grown = new Growth(first).add(kept)
  const program = grown === kept ? first : programOf(grown, changed, first)
  const compared = Object.entries(entries).map(([name, entry]) => new Entry(program, name, entry).compare())
  return {
    findings: compared.flatMap(({ findings }) => findings),
    names: compared.flatMap(({ names }) => names),
    program,
  }
}

/** What a module exports, by name. */
const exportsOf = (program: ts.Program, file: string): ReadonlyMap<string, ts.Symbol> => {
  const checker = program.getTypeChecker()
  const source = program.getSourceFile(file)
  const module = source === undefined ? undefined : checker.getSymbolAtLocation(source)
  if (module === undefined) throw new Error(`${file} is no module`)
  return new Map(
    checker
      .getExportsOfModule(module)
      .map((symbol) => [symbol.name, symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol]),
  )
}

/** The types within a type: alternatives and arguments, what its functions take, and what they return. */
const typesWithin = (checker: ts.TypeChecker, type: ts.Type) => {
  const parts = partsOf(type)
  const signatures = parts.flatMap((part) => checker.getSignaturesOfType(part, ts.SignatureKind.Call))
  return {
    args: parts.flatMap((part) => (isReference(part) ? checker.getTypeArguments(part) : [])),
    taken: signatures.flatMap(({ parameters }) => parameters.map((parameter) => checker.getTypeOfSymbol(parameter))),
    returned: signatures.map((signature) => signature.getReturnType()),
  }
}

/**
 * Members that were added, and are always there, to types that the gateway gives to hooks of authors, such as `RankContext`. They are no finding, but each function that takes such
 * a type takes another one by them. So the comparison is with a copy that has them too. Types that authors alone make, such as
 * `ProviderDefinition`, get none: a member that they have to give is a finding.
 */
class Growth {
  private readonly checker: ts.TypeChecker
  private readonly program: ts.Program
  /** Interfaces of the copy that authors get. */
  private readonly given = new Set<ts.InterfaceDeclaration>()
  private readonly seen = { given: new Set<ts.Type>(), made: new Set<ts.Type>() }

  constructor(program: ts.Program) {
    this.program = program
    this.checker = program.getTypeChecker()
  }

  /** The copy itself where there is nothing to add. */
  add(kept: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
    for (const entry of Object.values(entries)) {
      for (const symbol of exportsOf(this.program, join(keptRoot, `${entry}.d.ts`)).values()) {
        if ((symbol.flags & ts.SymbolFlags.Value) === 0) continue
        const { taken } = typesWithin(this.checker, this.checker.getTypeOfSymbol(symbol))
        for (const each of taken) this.walk(each, "made")
      }
    }
    // From the end of each file, so that places before stay as they are.
    const grown = new Map(kept)
    for (const declaration of [...this.given].toSorted((a, b) => b.end - a.end)) {
      const path = declaration.getSourceFile().fileName.slice(keptRoot.length + 1, -".d.ts".length)
      const text = grown.get(path)
      const members = this.membersAdded(declaration, path)
      if (text === undefined || members === "") continue
      grown.set(path, `${text.slice(0, declaration.end - 1)}${members}${text.slice(declaration.end - 1)}`)
    }
    return [...grown].every(([path, text]) => text === kept.get(path)) ? kept : grown
  }

  private walk(type: ts.Type, by: "given" | "made"): void {
    if (this.seen[by].has(type)) return
    this.seen[by].add(type)
    const { args, taken, returned } = typesWithin(this.checker, type)
    for (const each of [...args, ...returned]) this.walk(each, by)
    for (const each of taken) this.walk(each, by === "given" ? "made" : "given")
    for (const part of partsOf(type)) {
      if (!isKept(part)) continue
      for (const declaration of part.symbol.declarations ?? []) {
        if (by === "made" || !ts.isInterfaceDeclaration(declaration)) continue
        if (!written.has(declaration.name.text)) this.given.add(declaration)
      }
      for (const member of this.checker.getPropertiesOfType(part)) this.walk(this.checker.getTypeOfSymbol(member), by)
    }
  }

  private membersAdded({ name }: ts.InterfaceDeclaration, path: string): string {
    const symbol = this.checker.getSymbolAtLocation(name)
    const file = join(root, `${path}.ts`)
    if (symbol === undefined || this.program.getSourceFile(file) === undefined) return ""
    const now = exportsOf(this.program, file).get(name.text)
    if (now === undefined) return ""
    const known = new Set(
      this.checker.getPropertiesOfType(this.checker.getDeclaredTypeOfSymbol(symbol)).map((m) => m.name),
    )
    return this.checker
      .getPropertiesOfType(this.checker.getDeclaredTypeOfSymbol(now))
      .filter(({ name: member, flags }) => !known.has(member) && (flags & ts.SymbolFlags.Optional) === 0)
      .map(({ name: member }) => `readonly ${member}: import("${file}").${name.text}["${member}"]\n`)
      .join("")
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
    const kept = exportsOf(this.program, join(keptRoot, `${this.entry}.d.ts`))
    const now = exportsOf(this.program, join(root, `${this.entry}.ts`))
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
      if (!this.checker.isTypeAssignableTo(now, then)) this.found(name, this.change(then, now))
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
    for (const [member, all] of this.membersOf(then)) {
      const others = members.get(member)
      if (others === undefined) {
        this.found(`${name}.${member}`, "is gone")
        continue
      }
      // Of a union each alternative may have the member with a type of its own.
      for (const before of all) {
        const after = others.find((other) => this.fit(before, other))
        if (after !== undefined) this.compareWithin(`${name}.${member}`, before, after)
        else if (others[0] !== undefined) this.found(`${name}.${member}`, this.change(before, others[0]))
      }
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
    const { args, taken, returned } = typesWithin(this.checker, type)
    return [...args, ...taken, ...returned]
  }

  private fit(then: ts.Type, now: ts.Type): boolean {
    // A parameter of a generic type is another one in each of the two declarations.
    if (this.checker.typeToString(then) === this.checker.typeToString(now)) return true
    return this.checker.isTypeAssignableTo(then, now) || this.checker.isTypeAssignableTo(now, then)
  }

  /** The types of the members of a type, and of all alternatives of a union. */
  private membersOf(type: ts.Type): ReadonlyMap<string, ReadonlyArray<ts.Type>> {
    const members = new Map<string, Array<ts.Type>>()
    for (const part of partsOf(type)) {
      if ((part.flags & ts.TypeFlags.Object) === 0 && !part.isIntersection()) continue
      for (const member of this.checker.getPropertiesOfType(part)) {
        const types = members.get(member.name) ?? []
        types.push(this.checker.getTypeOfSymbol(member))
        members.set(member.name, types)
      }
    }
    return members
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
