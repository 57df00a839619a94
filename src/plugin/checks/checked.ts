/**
 * A provider whose hooks keep what the contract promises. Plugins are JavaScript that was type-checked elsewhere, if at
 * all: whatever one of their hooks throws or returns wrongly becomes a failed host with a `PluginFault` as its cause,
 * so that the next host is tried and the log names plugin, member and hook. What a hook's own `HostFailed` shows of the
 * host is cut and cleaned here, wherever it comes from.
 */
import * as Effect from "effect/Effect"
import { HostFailed } from "../../domain/failures/Failure.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import type { ListedModel } from "../../domain/hosts/ListedModel.ts"
import { isJsonObject } from "../../domain/json/json.ts"
import type { CacheMultipliers } from "../../domain/price/CacheMultipliers.ts"
import { unaryNames } from "../../domain/request/operations.ts"
import { showable } from "../../formats/httpError.ts"
import type { Encoded } from "../../formats/Protocol.ts"
import { isFraming } from "../../wire/Framing.ts"
import { KnownSecrets } from "../KnownSecrets.ts"
import type { ListModels, Provider, ProviderPlugin, VendorHost } from "../Provider.ts"
import type { Candidate, Rank, RankContext, Reasons, Why } from "../strategy.ts"
import { type CheckedProtocol, type CheckedUnaries, checkedProtocol, checkedUnaries } from "./checkedProtocol.ts"
import { but } from "./misfit.ts"
import { failedBy, type Hook, hookOf, type PluginFault } from "./PluginFault.ts"
import { begun, entered, left } from "./running.ts"
import {
  expectedOfEncoded,
  expectedOfLimits,
  expectedOfMultipliers,
  expectedOfProtocol,
  expectedOfReasons,
  expectedOfRegions,
  expectedOfUnaryProtocol,
} from "./shapes.ts"

export interface CheckedListing extends Pick<ListModels, "request" | "fromRoot"> {
  readonly decode: (body: unknown) => ReadonlyArray<ListedModel> | HostFailed | undefined
  readonly detail?: {
    readonly request: (model: string) => Encoded | HostFailed
    /** The model as it was, where the hook fails. */
    readonly decode: (model: ListedModel, body: unknown) => ListedModel
  }
}

/** The hooks of a provider, which never throw and always return values of their type. */
export interface CheckedProvider
  extends Pick<Provider, "error" | "baseUrl" | "credentials" | "sign" | "keyCheck" | "regionMultipliers" | "limits">,
    Partial<CheckedUnaries> {
  readonly protocols: Readonly<Record<string, CheckedProtocol>>
  /** Secrets besides its `credentials`, none of which may be shown. */
  readonly secrets: KnownSecrets
  /** Rejects only with a `HostFailed`. */
  readonly transport?: (request: Request) => Promise<Response>
  readonly listModels?: CheckedListing
  /** Objects, not looked at further: the catalogue decodes them. Rejects with a `PluginFault` and nothing else. */
  readonly models?: () => Promise<ReadonlyArray<ListedModel>>
  /** Throws a `PluginFault` and nothing else. */
  readonly canCall?: (host: VendorHost) => boolean
  /** Never throws. */
  readonly cacheMultipliers?: (host: VendorHost) => CacheMultipliers | undefined | PluginFault
  /** Never throws. A name of one of `protocols`. */
  readonly toolsBy?: (host: Host) => string | undefined
}

/** Throws a `PluginFault` when the result of `load` is not a provider. */
export const checkedProvider = (
  plugin: ProviderPlugin,
  provider: Provider,
  secrets: KnownSecrets = new KnownSecrets(),
): CheckedProvider => {
  const hook = (name: string) => hookOf(plugin.id, "", name)
  assertProvider(hook("load"), provider)
  const { baseUrl, credentials, sign, transport, listModels, models } = provider
  const { keyCheck, canCall, cacheMultipliers, regionMultipliers, toolsBy, limits } = provider
  const protocols = Object.entries(provider.protocols).map(
    ([name, protocol]) => [name, checkedProtocol(plugin.id, name, protocol)] as const,
  )
  return {
    protocols: Object.fromEntries(protocols),
    secrets,
    ...checkedUnaries(plugin.id, provider),
    error: checkedError(hook("error"), provider),
    ...(baseUrl === undefined ? {} : { baseUrl }),
    ...(credentials === undefined ? {} : { credentials }),
    ...(sign === undefined ? {} : { sign: checkedSign(hook("sign"), sign.bind(provider)) }),
    ...(transport === undefined ? {} : { transport: checkedTransport(hook("transport"), transport.bind(provider)) }),
    ...(keyCheck === undefined ? {} : { keyCheck }),
    ...(listModels === undefined ? {} : { listModels: checkedListing(plugin.id, listModels) }),
    ...(models === undefined ? {} : { models: checkedModels(hook("models"), models.bind(provider)) }),
    ...(canCall === undefined ? {} : { canCall: checkedCanCall(hook("canCall"), canCall.bind(provider)) }),
    ...(cacheMultipliers === undefined
      ? {}
      : { cacheMultipliers: checkedMultipliers(hook("cacheMultipliers"), cacheMultipliers.bind(provider)) }),
    ...(regionMultipliers === undefined ? {} : { regionMultipliers }),
    ...(limits === undefined ? {} : { limits }),
    ...(toolsBy === undefined ? {} : { toolsBy: checkedToolsBy(hook("toolsBy"), provider, toolsBy.bind(provider)) }),
  }
}

const checkedError = (hook: Hook, provider: Provider): Provider["error"] => {
  return (status, headers, body) => {
    entered(hook.number)
    try {
      const failure: unknown = provider.error(status, headers, body)
      if (failure instanceof HostFailed) return showable(failure)
      return failedBy(hook.returned(but("a HostFailed", failure), failure)).with({ status })
    } catch (cause) {
      return failedBy(hook.threw(cause)).with({ status })
    } finally {
      left()
    }
  }
}

const checkedSign = (hook: Hook, sign: NonNullable<Provider["sign"]>): NonNullable<Provider["sign"]> => {
  const checkedResult = (signed: Encoded) => {
    const expected = expectedOfEncoded(signed)
    return expected === undefined ? Effect.succeed(signed) : failedBy(hook.returned(`an Effect of ${expected}`, signed))
  }
  return (encoded, context) =>
    Effect.suspend(() => {
      const signing = begunBy(hook, () => sign(encoded, context))
      return Effect.isEffect(signing) ? signing : failedBy(hook.returned(but("an Effect", signing), signing))
    }).pipe(
      Effect.flatMap(checkedResult),
      Effect.catchAll((failure: unknown) =>
        failure instanceof HostFailed ? showable(failure) : failedBy(hook.threw(failure)),
      ),
      Effect.catchAllDefect((cause) => failedBy(hook.threw(cause))),
    )
}

const checkedTransport = (hook: Hook, transport: NonNullable<Provider["transport"]>) => {
  return async (request: Request): Promise<Response> => {
    const answer: unknown = await attempted(
      () => begunBy(hook, () => transport(request)),
      (cause) => {
        // What it calls in the place of the network may be down: that is no mistake of the plugin.
        return cause instanceof HostFailed ? showable(cause) : new HostFailed({ reason: "unreachable", cause })
      },
    )
    if (answer instanceof Response) return answer
    throw failedBy(hook.returned(but("a promise of a Response", answer), answer))
  }
}

const checkedListing = (plugin: string, { request, fromRoot, decode, detail }: ListModels): CheckedListing => {
  const hook = (name: string) => hookOf(plugin, "listModels", name)
  return {
    request,
    ...(fromRoot === undefined ? {} : { fromRoot }),
    decode: (body) => {
      try {
        const models = runBy(hook("decode"), () => decode(body))
        if (models === undefined || isList(models)) return models
        return failedBy(hook("decode").returned(but("a list of models, or nothing", models), models))
      } catch (cause) {
        return failedBy(hook("decode").threw(cause))
      }
    },
    ...(detail === undefined
      ? {}
      : {
          detail: {
            request: (model) => {
              try {
                const asked = runBy(hook("detail.request"), () => detail.request(model))
                const expected = expectedOfEncoded(asked)
                return expected === undefined ? asked : failedBy(hook("detail.request").returned(expected, asked))
              } catch (cause) {
                return failedBy(hook("detail.request").threw(cause))
              }
            },
            decode: (model, body) => {
              try {
                const described: unknown = runBy(hook("detail.decode"), () => detail.decode(model, body))
                return isJsonObject(described) ? { ...model, ...described } : model
              } catch {
                return model
              }
            },
          },
        }),
  }
}

const checkedModels = (hook: Hook, models: NonNullable<Provider["models"]>) => async () => {
  const listed = await attempted(() => begunBy(hook, models), hook.threw)
  if (isList(listed)) return listed
  throw hook.returned(but("a promise of a list of models", listed), listed)
}

const checkedCanCall = (hook: Hook, canCall: NonNullable<Provider["canCall"]>) => (host: VendorHost) => {
  let answer: unknown
  try {
    answer = runBy(hook, () => canCall(host))
  } catch (cause) {
    throw hook.threw(cause)
  }
  if (typeof answer === "boolean") return answer
  throw hook.returned(but("true or false", answer), answer)
}

const checkedToolsBy =
  (hook: Hook, { protocols }: Provider, toolsBy: NonNullable<Provider["toolsBy"]>) =>
  (host: Host) => {
    try {
      const name: unknown = runBy(hook, () => toolsBy(host))
      if (name === undefined) return undefined
      if (typeof name === "string" && Object.hasOwn(protocols, name)) return name
      hook.returned(but("the name of one of its protocols", name), name)
    } catch (cause) {
      hook.threw(cause)
    }
    return undefined
  }

const checkedMultipliers =
  (hook: Hook, multipliersOf: NonNullable<Provider["cacheMultipliers"]>) => (host: VendorHost) => {
    try {
      const multipliers = runBy(hook, () => multipliersOf(host))
      const expected = expectedOfMultipliers(multipliers)
      return expected === undefined ? multipliers : hook.returned(expected, multipliers)
    } catch (cause) {
      return hook.threw(cause)
    }
  }

const isList = (value: unknown): boolean => Array.isArray(value) && value.every(isJsonObject)

/**
 * Runs a hook that is marked meanwhile (`running.ts`). For hooks that are not called often, since it takes a closure.
 */
export const runBy = <A>(hook: Hook, work: () => A): A => {
  entered(hook.number)
  try {
    return work()
  } finally {
    left()
  }
}

/** The same for an asynchronous hook. */
export const begunBy = <A>(hook: Hook, work: () => A): A => {
  begun(hook.number)
  return runBy(hook, work)
}

/** Runs `work`. Anything it throws or rejects with is mapped by `fault`. */
const attempted = async <A>(work: () => Promise<A>, fault: (cause: unknown) => Error): Promise<A> => {
  try {
    return await work()
  } catch (cause) {
    throw fault(cause)
  }
}

// --- strategies

/** The ranking, marked while it runs. */
export const checkedRank = (plugin: string, rank: Rank): Rank => {
  const hook = hookOf(plugin, "", "rank")
  return (candidates, context) => {
    entered(hook.number)
    try {
      return rank(candidates, context)
    } finally {
      left()
    }
  }
}

/** Explains the place of a candidate, or says what is wrong with the plugin. Never throws. */
export type CheckedWhy = (candidate: Candidate, context: RankContext) => Reasons | PluginFault

export const checkedWhy = (plugin: string, why: Why): CheckedWhy => {
  const hook = hookOf(plugin, "", "why")
  return (candidate, context) => {
    try {
      const reasons = runBy(hook, () => why(candidate, context))
      const expected = expectedOfReasons(reasons)
      return expected === undefined ? reasons : hook.returned(expected, reasons)
    } catch (cause) {
      return hook.threw(cause)
    }
  }
}

// --- the result of load

const assertProvider: (hook: Hook, provider: unknown) => asserts provider is Provider = (hook, provider) => {
  const misfit = misfitOf(provider)
  if (misfit !== undefined) throw hook.returned(misfit, provider)
}

/** What of the provider is not as its type says; `undefined`: all is. */
const misfitOf = (provider: unknown): string | undefined => {
  if (!isJsonObject(provider) || provider instanceof Promise) return but("a provider", provider)
  const { protocols, error, baseUrl, credentials, keyCheck, listModels } = provider
  if (!isJsonObject(protocols)) return but("protocols: an object", protocols)
  const unary = unaryNames.filter((name) => provider[name] !== undefined)
  if (Object.keys(protocols).length === 0 && unary.length === 0) return "at least one protocol"
  for (const name in protocols) {
    const protocol = protocols[name]
    if (!isJsonObject(protocol)) return but(`a protocol ${name} that is an object`, protocol)
    const expected = expectedOfProtocol(protocol, isFraming)
    if (expected !== undefined) return `a protocol ${name} whose ${expected}`
  }
  for (const name of unary) {
    const protocol = provider[name]
    if (!isJsonObject(protocol)) return but(`${name} as an object`, protocol)
    const expected = expectedOfUnaryProtocol(protocol)
    if (expected !== undefined) return `${name} whose ${expected}`
  }
  if (typeof error !== "function") return but("error as a function", error)
  for (const name of ["sign", "transport", "models", "canCall", "cacheMultipliers", "toolsBy"]) {
    const member = provider[name]
    if (member !== undefined && typeof member !== "function") return but(`${name} as a function`, member)
  }
  if (baseUrl !== undefined && typeof baseUrl !== "string") return but("baseUrl as text", baseUrl)
  if (credentials !== undefined && !isJsonObject(credentials)) return but("credentials as an object", credentials)
  const region = expectedOfRegions(provider["regionMultipliers"])
  if (region !== undefined) return region
  const limit = expectedOfLimits(provider["limits"])
  if (limit !== undefined) return limit
  if (keyCheck !== undefined) {
    if (!isJsonObject(keyCheck)) return but("keyCheck with a request", keyCheck)
    const expected = expectedOfEncoded(keyCheck["request"])
    if (expected !== undefined) return `keyCheck with ${expected}`
  }
  if (listModels === undefined) return undefined
  if (!isJsonObject(listModels)) return but("listModels with request and decode", listModels)
  if (typeof listModels["decode"] !== "function")
    return but("listModels with decode as a function", listModels["decode"])
  const expected = expectedOfEncoded(listModels["request"])
  return expected === undefined ? undefined : `listModels with ${expected}`
}
