/**
 * The tools that the caller of a Responses request runs, each once, and the names of the functions that hosts of other
 * forms are sent for them. A name has at most 64 letters, digits, underscores and dashes, and no two tools share one.
 */
import type { JsonObject } from "../../domain/json/json.ts"
import { isJsonObject, textOr } from "../../domain/json/json.ts"
import { hasAddedTools, offeredIn, pathOfOffered } from "../request/offered.ts"
import { shortToolName, usualLongestToolName } from "../request/toolNames.ts"
import { functionKind, identityOf, kindOfTool, type ToolIdentity } from "./responsesToolKinds.ts"

/** A tool that may be called. */
export interface CallerTool {
  readonly identity: ToolIdentity
  /** As the caller wrote it. */
  readonly tool: JsonObject
  /** In the caller's body. */
  readonly path: string
}

const fitting = /^[a-zA-Z0-9_-]{1,64}$/

/** Two tools are one where their kinds, namespaces and names are. */
export const keyOf = (identity: ToolIdentity): string =>
  hasOwnName(identity)
    ? `=${identity.name}`
    : JSON.stringify([identity.kind.type, identity.namespace ?? null, identity.name])

/** Whether only functions of the body's own `tools` may be called: then each has its own name. */
export const hasOnlyFunctions = (body: JsonObject): boolean =>
  !(Array.isArray(body["tools"]) && body["tools"].some(isNoFunction)) && !hasAddedTools(body)

const isNoFunction = (tool: unknown): boolean => isJsonObject(tool) && tool["type"] !== "function"

/** Names and tools of one request. */
interface Assigned {
  /** By `keyOf` of a tool, the function that hosts are sent for it. */
  readonly names: Map<string, string>
  /** The other way round. */
  readonly callers: Map<string, ToolIdentity>
}

export class ToolNames {
  /**
   * In the order in which they are offered. One that is offered again has its first place, and its last description.
   */
  readonly tools: ReadonlyArray<CallerTool>
  /** Whether they are functions of the body's own `tools` alone. */
  readonly hasOnlyFunctions: boolean
  private keys: ReadonlySet<string> | undefined
  /** Absent: no tool has a name yet. Functions alone keep theirs, so they need none until another tool is called. */
  private assigned: Assigned | undefined

  /** `body`: checked. */
  constructor(body: JsonObject) {
    this.hasOnlyFunctions = hasOnlyFunctions(body)
    this.tools = this.hasOnlyFunctions ? functionsIn(body["tools"]) : eachOnce(callerToolsIn(body))
    if (!this.hasOnlyFunctions) this.nameTools()
  }

  /** Whether the request has the tool, and not merely an earlier call of it. */
  offers(identity: ToolIdentity): boolean {
    this.keys ??= new Set(this.tools.map((one) => keyOf(one.identity)))
    return this.keys.has(keyOf(identity))
  }

  /**
   * The name of its function. A tool that is not offered, such as one of an earlier call, has a name of its own too.
   */
  nameOf(identity: ToolIdentity): string {
    if (this.assigned === undefined && hasOwnName(identity)) return identity.name
    return this.named(identity, this.assigned ?? this.nameTools())
  }

  /** The tool that a host calls by this name. One that nobody offered is a function. */
  calledAs(name: string): ToolIdentity {
    return this.assigned?.callers.get(name) ?? functionNamed(name)
  }

  /** Functions without a namespace come first: they keep their names, whatever stands before them. */
  private nameTools(): Assigned {
    const assigned = { names: new Map(), callers: new Map() }
    this.assigned = assigned
    for (const { identity } of this.tools) if (hasOwnName(identity)) this.named(identity, assigned)
    for (const { identity } of this.tools) this.named(identity, assigned)
    return assigned
  }

  private named(identity: ToolIdentity, { names, callers }: Assigned): string {
    const key = keyOf(identity)
    const known = names.get(key)
    if (known !== undefined) return known
    const { namespace, name } = identity
    const joined = namespace === undefined ? name : `${namespace}__${name}`
    const isWhole = hasOwnName(identity) || fitting.test(joined)
    const chosen = isWhole && !callers.has(joined) ? joined : shortened(joined, key, callers)
    names.set(key, chosen)
    callers.set(chosen, identity)
    return chosen
  }
}

const functionNamed = (name: string): ToolIdentity => ({ kind: functionKind, name, namespace: undefined })

const shortened = (joined: string, key: string, taken: ReadonlyMap<string, unknown>): string => {
  for (let more = ""; ; more += "+") {
    const name = shortToolName(joined, usualLongestToolName, key + more)
    if (!taken.has(name)) return name
  }
}

const hasOwnName = ({ kind, namespace }: ToolIdentity): boolean => kind === functionKind && namespace === undefined

const noTools: JsonObject = {}

/** The names for an answer: of a request that has functions only they need none. */
export const answerNamesOf = (body: JsonObject): ToolNames => new ToolNames(hasOnlyFunctions(body) ? noTools : body)

/** The tools of a request that has only functions. */
const functionsIn = (tools: unknown): ReadonlyArray<CallerTool> => {
  const found: Array<CallerTool> = []
  if (!Array.isArray(tools)) return found
  for (const [at, tool] of tools.entries())
    if (isJsonObject(tool))
      found.push({ identity: functionNamed(textOr(tool["name"], "")), tool, path: `tools[${at}]` })
  return found
}

const eachOnce = (found: ReadonlyArray<CallerTool>): ReadonlyArray<CallerTool> => [
  ...new Map(found.map((one) => [keyOf(one.identity), one])).values(),
]

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
  return kind === undefined ? [] : [{ identity: { ...identityOf(kind, tool), namespace }, tool, path }]
}
