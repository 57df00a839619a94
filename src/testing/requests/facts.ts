/** Checks of a plugin's declared facts: contract, id, address, configuration, models. */
import * as Either from "effect/Either"
import type { ParseError } from "effect/ParseResult"
import { checkBaseUrl } from "../../catalogue/baseUrl.ts"
import { decodeModels, servedBy } from "../../catalogue/models.ts"
import type { JsonObject } from "../../domain/json/json.ts"
import { problemsOf } from "../../domain/json/Problem.ts"
import { checkedProvider } from "../../plugin/checks/checked.ts"
import { PluginFault } from "../../plugin/checks/PluginFault.ts"
import { isPlugin, type Plugin } from "../../plugin/loading/discover.ts"
import { contractVersion } from "../../plugin/Provider.ts"
import { isHeaderName } from "../../wire/head.ts"
import { attempt, type Check, must, shown } from "../Check.ts"
import { everyLack } from "../Expected.ts"
import { slug } from "../samples.ts"
import { load, ownConfig, type ProviderSubject } from "../subject.ts"

const unknownField = "field_that_does_not_exist"

/** Checks for providers and strategies. `own` throws when the given configuration is at fault. */
export const pluginChecks = (plugin: Plugin, kind: Plugin["kind"], own: () => JsonObject): ReadonlyArray<Check> => {
  const maker = kind === "provider" ? "defineProvider" : "defineStrategy"
  return [
    {
      name: `is made by ${maker}, for the contract of this gateway`,
      run: () => {
        must(isPlugin(plugin) && plugin.kind === kind, `The default export is not made by ${maker}`, maker)
        must(
          plugin.contract === contractVersion,
          `The plugin is made for contract ${plugin.contract}, this gateway has ${contractVersion}: it would not be loaded`,
          "contractVersion",
        )
      },
    },
    {
      name: "has an id in kebab-case",
      run: () => {
        must(
          /^[a-z0-9]+(-[a-z0-9]+)*$/.test(plugin.id),
          `The id ${shown(plugin.id)} is not in kebab-case, as its folder's name has to be`,
          `${maker}, id`,
        )
      },
    },
    {
      name: "refuses an unknown field of its configuration, and says where it is",
      run: () => refusesUnknown(plugin, own()),
    },
  ]
}

const refusesUnknown = (plugin: Plugin, own: JsonObject): void => {
  const contract = `${plugin.kind === "provider" ? "defineProvider" : "defineStrategy"}, config`
  const refusal = (raw: unknown) => {
    const loaded = attempt("load()", contract, (): Either.Either<unknown, ParseError> => plugin.load(raw))
    return Either.isLeft(loaded) ? problemsOf(loaded.left.issue) : undefined
  }
  const problems = refusal({ ...own, [unknownField]: 1 })
  must(problems !== undefined, `load() accepts { "${unknownField}": 1 }: a typing error would go unnoticed`, contract)
  must(
    problems.some(({ path }) => path === unknownField),
    `load() refuses an unknown field, but none of its issues has the field's path: ${shown(problems)}`,
    contract,
  )
  for (const raw of [null, 7, "text", []]) {
    must(refusal(raw) !== undefined, `load() accepts ${shown(raw)} as a configuration`, contract)
  }
}

export const factChecks = (subject: ProviderSubject): ReadonlyArray<Check> => [
  ...pluginChecks(subject.plugin, "provider", () => ownConfig(subject)),
  { name: "says well-formed things of its vendor", run: () => wellFormed(subject) },
  { name: "loads with the configuration given, and can do something", run: () => loads(subject) },
  { name: "lists models that the catalogue takes", run: () => modelsDecode(subject) },
]

const wellFormed = (subject: ProviderSubject): void => {
  const { name, baseUrl, auth } = subject.plugin
  must(/^[^\p{Cc}]{1,100}$/u.test(name), `The name ${shown(name)} is not a line of 1 to 100 characters`, "name")
  if (baseUrl !== undefined) {
    // http is allowed only for servers on this machine or network.
    const wrong = checkBaseUrl(
      baseUrl,
      checkBaseUrl(baseUrl.replace(/^http:/, "https:"), "public") ? "private" : "public",
    )
    must(wrong === undefined, `The baseUrl ${shown(baseUrl)} cannot be used: ${wrong}`, "ProviderPlugin.baseUrl")
    must(
      !baseUrl.endsWith("/"),
      `The baseUrl ${shown(baseUrl)} ends with a slash, and every path begins with one`,
      "ProviderPlugin.baseUrl",
    )
  }
  namesVariables(subject)
  must(
    auth?._tag !== "Header" || isHeaderName(auth.name),
    `The auth header ${shown(auth)} has no name that a header may have`,
    "ProviderPlugin.auth",
  )
}

const namesVariables = (subject: ProviderSubject): void => {
  const { keyVariable = [], variables = {}, discoveredBy = [], load: decode } = subject.plugin
  const named: ReadonlyArray<readonly [member: string, names: ReadonlyArray<string>]> = [
    ["keyVariable", [keyVariable].flat()],
    ["variables", Object.values(variables).flat()],
    ["discoveredBy", discoveredBy.flat()],
  ]
  for (const [member, names] of named) {
    const wrong = names.find((name) => !/^[A-Z][A-Z0-9_]*$/.test(name))
    must(
      wrong === undefined,
      `${member} has ${shown(wrong)}, which is not the name of an environment variable`,
      `ProviderPlugin.${member}`,
    )
  }
  must(
    discoveredBy.every((set) => set.length > 0),
    "A set of discoveredBy is empty: the provider would be on everywhere, which is what `always` says",
    "ProviderPlugin.discoveredBy",
  )
  for (const field of Object.keys(variables)) {
    const loaded = decode({ ...ownConfig(subject), [field]: "a-text" })
    const problems = Either.isLeft(loaded) ? problemsOf(loaded.left.issue) : []
    must(
      !problems.some(({ path, message }) => path === field && /^(unknown|expected no) field/.test(message)),
      `variables fills the field ${shown(field)}, which the plugin's configuration does not have`,
      "ProviderPlugin.variables",
    )
  }
}

const loads = (subject: ProviderSubject): void => {
  const known: ReadonlyArray<string> = everyLack
  const unknown = (subject.lacks ?? []).find((lack) => !known.includes(lack))
  must(
    unknown === undefined,
    `\`lacks\` has ${shown(unknown)}, which it cannot have: ${everyLack.join(", ")}`,
    "ProviderSubject.lacks",
  )
  const provider = load(subject)
  const checked = attempt("Checking what load() gave", "Provider", () => checkedProvider(subject.plugin, provider))
  checked.canCall?.({ model: "acme-1", baseUrl: "https://api.acme.example/v1" })
  const multipliers = checked.cacheMultipliers?.({ model: "acme-1", baseUrl: "https://api.acme.example/v1" })
  if (multipliers instanceof PluginFault) must(false, multipliers.message, "Provider.cacheMultipliers")
  for (const { protocol } of subject.streams ?? []) {
    must(
      protocol === undefined || Object.hasOwn(provider.protocols, protocol),
      `A stream was given for the protocol "${protocol}", which the plugin does not have`,
      "StreamSample.protocol",
    )
  }
}

const modelsDecode = async (subject: ProviderSubject): Promise<void> => {
  const { plugin } = subject
  const models = await checkedProvider(plugin, load(subject)).models?.()
  const facts = { name: plugin.name, privacy: { mayTrain: true, retainsPrompts: true }, local: false }
  const { problems } = decodeModels(servedBy(models ?? [], slug), new Map([[slug, facts]]))
  const listed = problems.map(({ path, message }) => `${path}: ${message}`)
  must(
    listed.length === 0,
    listed.join("; "),
    "Provider.models: the form of `models` of the configuration, `provider` left out",
  )
}
