/** Checks of what a plugin says of itself: contract, id, address, configuration, models. Architecture, plugin contract; G20, G29, G33. */
import * as Either from "effect/Either"
import type { ParseError } from "effect/ParseResult"
import { checkBaseUrl } from "../config/baseUrl.ts"
import { isJsonObject, type JsonObject } from "../domain/Json.ts"
import { problemsOf } from "../domain/Problem.ts"
import { isPlugin, type Plugin } from "../plugin/discover.ts"
import { contractVersion } from "../plugin/Provider.ts"
import { decodeModels, servedBy } from "../services/catalogue.ts"
import { attempt, type Check, must, shown } from "./check.ts"
import { slug } from "./samples.ts"
import { load, ownConfig, type ProviderSubject } from "./subject.ts"

const strangeField = "field_that_nobody_knows"

/** What providers and strategies have in common. `own` may throw: then the configuration given is at fault. */
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
          "G33",
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
      name: "refuses an unknown field of its configuration, and says where it stands",
      run: () => refusesUnknown(plugin, own()),
    },
  ]
}

const refusesUnknown = (plugin: Plugin, own: JsonObject): void => {
  const contract = `${plugin.kind === "provider" ? "defineProvider" : "defineStrategy"}, config; G20`
  const refusal = (raw: unknown) => {
    const loaded = attempt("load()", contract, (): Either.Either<unknown, ParseError> => plugin.load(raw))
    return Either.isLeft(loaded) ? problemsOf(loaded.left.issue) : undefined
  }
  const problems = refusal({ ...own, [strangeField]: 1 })
  must(problems !== undefined, `load() accepts { "${strangeField}": 1 }: a typing error would pass unseen`, contract)
  must(
    problems.some(({ path }) => path === strangeField),
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
  { name: "brings models that the catalogue takes", run: () => modelsDecode(subject) },
]

const wellFormed = ({ plugin }: ProviderSubject): void => {
  const { name, baseUrl, keyVariable, auth } = plugin
  must(/^[^\p{Cc}]{1,100}$/u.test(name), `The name ${shown(name)} is not a line of 1 to 100 characters`, "name")
  if (baseUrl !== undefined) {
    // http is for servers on this machine: those that may not be public at all.
    const wrong = checkBaseUrl(
      baseUrl,
      checkBaseUrl(baseUrl.replace(/^http:/, "https:"), "public") ? "private" : "public",
    )
    must(wrong === undefined, `The baseUrl ${shown(baseUrl)} cannot be used: ${wrong}`, "ProviderPlugin.baseUrl; G29")
    must(
      !baseUrl.endsWith("/"),
      `The baseUrl ${shown(baseUrl)} ends with a slash, and every path begins with one`,
      "ProviderPlugin.baseUrl",
    )
  }
  if (keyVariable !== undefined) {
    must(
      /^[A-Z][A-Z0-9_]*$/.test(keyVariable),
      `The keyVariable ${shown(keyVariable)} is not the name of an environment variable`,
      "ProviderPlugin.keyVariable",
    )
  }
  must(
    auth._tag !== "Header" || headerName.test(auth.name),
    `The auth header ${shown(auth)} has no name that a header may have`,
    "ProviderPlugin.auth",
  )
}

export const headerName = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/

const loads = (subject: ProviderSubject): void => {
  const provider = load(subject)
  const contract = "Provider.operations"
  const operations = Object.entries(provider.operations)
  must(operations.length > 0, "The plugin has no operation: nothing can be asked of it", contract)
  for (const [name, form] of operations) {
    const whole =
      isJsonObject(form) && [form.request, form.response, form.decoder].every((each) => typeof each === "function")
    must(whole, `The operation "${name}" lacks request, response or decoder`, `${contract}; WireForm`)
  }
  must(typeof provider.error === "function", "The plugin has no error()", "Provider.error")
  for (const { operation } of subject.streams ?? []) {
    must(
      operation === undefined || Object.hasOwn(provider.operations, operation),
      `A stream was given for the operation "${operation}", which the plugin does not have`,
      "StreamSample.operation",
    )
  }
}

const modelsDecode = (subject: ProviderSubject): void => {
  const { models = [] } = load(subject)
  const { plugin } = subject
  const facts = { name: plugin.name, privacy: { mayTrain: true, retainsPrompts: true }, local: false }
  const { problems } = decodeModels(servedBy(models, slug), new Map([[slug, facts]]))
  const said = problems.map(({ path, message }) => `${path}: ${message}`)
  must(
    said.length === 0,
    said.join("; "),
    "Provider.models: the form of `models` of the configuration, `provider` left out",
  )
}
