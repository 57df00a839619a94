/**
 * The tools that the caller of a Responses request runs, each once, under the name of a function that hosts of other forms are
 * told. A name has at most 64 letters, digits, underscores and dashes, and no two tools share one.
 */
import type { JsonObject } from "../../../domain/Json.ts"
import { isJsonObject, textOr } from "../../../domain/Json.ts"
import { bringsTools, offeredIn, pathOfOffered } from "../../../wire/responses/offered.ts"
import { type CalledTool, calledTool, functionKind, kindOfTool } from "./callerTools.ts"

/** A tool that may be called. */
export interface CallerTool {
  readonly called: CalledTool
  /** As the caller wrote it. */
  readonly tool: JsonObject
  /** In the caller's body. */
  readonly path: string
}

const fitting = /^[a-zA-Z0-9_-]{1,64}$/
const longest = 64
const hashLength = 10

/** Two tools are one where their kinds, namespaces and names are. */
export const keyOf = (called: CalledTool): string =>
  hasOwnName(called) ? `=${called.name}` : JSON.stringify([called.kind.type, called.namespace ?? null, called.name])

const hashOf = (text: string): string => new Bun.CryptoHasher("sha256").update(text).digest("hex").slice(0, hashLength)

/** Whether only functions of the body's own `tools` may be called: then each has its own name. */
const isPlain = ({ tools, input }: JsonObject): boolean =>
  !(Array.isArray(tools) && tools.some(isNoFunction)) && !(Array.isArray(input) && input.some(bringsTools))

const isNoFunction = (tool: unknown): boolean => isJsonObject(tool) && tool["type"] !== "function"

export class ToolNames {
  /** In the order in which they are offered. One that is offered again has its first place, and its last description. */
  readonly tools: ReadonlyArray<CallerTool>
  /** Whether they are functions of the body's own `tools` alone. */
  readonly isPlain: boolean
  private keys: ReadonlySet<string> | undefined
  private readonly names = new Map<string, string>()
  private readonly callers = new Map<string, CalledTool>()
  /** Whether the tools have their names. Functions alone keep theirs, so they need none until another tool is called. */
  private areNamed = false

  /** `body`: checked. */
  constructor(body: JsonObject) {
    const found = callerToolsIn(body)
    this.isPlain = isPlain(body)
    if (this.isPlain) this.tools = found
    else {
      this.tools = [...new Map(found.map((one) => [keyOf(one.called), one])).values()]
      this.nameTools()
    }
  }

  /** Whether the request has the tool, and not merely an earlier call of it. */
  offers(called: CalledTool): boolean {
    this.keys ??= new Set(this.tools.map((one) => keyOf(one.called)))
    return this.keys.has(keyOf(called))
  }

  /** What hosts are told. A tool that is not offered, such as one of an earlier call, has a name of its own too. */
  nameOf(called: CalledTool): string {
    const isOwn = hasOwnName(called)
    if (isOwn && !this.areNamed) return called.name
    if (!this.areNamed) this.nameTools()
    const key = keyOf(called)
    const known = this.names.get(key)
    if (known !== undefined) return known
    const { namespace, name } = called
    const joined = namespace === undefined ? name : `${namespace}__${name}`
    const isWhole = isOwn || fitting.test(joined)
    const chosen = isWhole && !this.callers.has(joined) ? joined : this.shortened(joined, key)
    this.names.set(key, chosen)
    this.callers.set(chosen, called)
    return chosen
  }

  /** The tool that a host calls by this name. One that nobody offered is a function. */
  calledAs(name: string): CalledTool {
    return this.callers.get(name) ?? { kind: functionKind, name, namespace: undefined }
  }

  /** Functions without a namespace come first: they keep their names, whatever stands before them. */
  private nameTools(): void {
    this.areNamed = true
    for (const { called } of this.tools) if (hasOwnName(called)) this.nameOf(called)
    for (const { called } of this.tools) this.nameOf(called)
  }

  private shortened(joined: string, key: string): string {
    const start = joined.slice(0, longest - hashLength - 1).replace(/[^a-zA-Z0-9_-]/g, "_")
    for (let more = ""; ; more += "+") {
      const name = `${start}_${hashOf(key + more)}`
      if (!this.callers.has(name)) return name
    }
  }
}

const hasOwnName = ({ kind, namespace }: CalledTool): boolean => kind === functionKind && namespace === undefined

const noTools: JsonObject = {}

/** The names for an answer: of a request that has functions only they need none. */
export const answerNamesOf = (body: JsonObject): ToolNames => new ToolNames(isPlain(body) ? noTools : body)

const callerToolsIn = (body: JsonObject): ReadonlyArray<CallerTool> =>
  offeredIn(body).flatMap((offered): ReadonlyArray<CallerTool> => {
    const { tool } = offered
    const path = pathOfOffered(offered)
    if (tool["type"] !== "namespace") return callerTool(tool, path, undefined)
    const { tools } = tool
    const inner: ReadonlyArray<unknown> = Array.isArray(tools) ? tools : []
    return inner.flatMap((one, at) =>
      isJsonObject(one) ? callerTool(one, `${path}.tools[${at}]`, textOr(tool["name"], "")) : [],
    )
  })

const callerTool = (tool: JsonObject, path: string, namespace: string | undefined): ReadonlyArray<CallerTool> => {
  const kind = kindOfTool(tool)
  return kind === undefined ? [] : [{ called: { ...calledTool(kind, tool), namespace }, tool, path }]
}
