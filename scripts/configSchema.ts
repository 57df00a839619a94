/**
 * Writes what is known of the configuration out of its Schema: `config.schema.json`, and types with comments, for authors
 * and for plugins that list models: `bun scripts/configSchema.ts`. A test fails when they are not current. `reference/configuration.ts`
 * makes a page of it.
 */
import { writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import type * as AST from "effect/SchemaAST"
import { HostEntry, ModelEntry, PricingEntry } from "../src/catalogue/schema.ts"
import { GatewayConfig } from "../src/config/GatewayConfig.ts"
import { typesOf } from "./types.ts"
import { type Form, formOf, type Member } from "./writtenForm.ts"

const at = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url))

const config = formOf(GatewayConfig.ast)

type JsonSchema = Readonly<Record<string, unknown>>

const schemaOf = (form: Form): JsonSchema => {
  switch (form.kind) {
    case "anything":
      return {}
    case "text":
      return { type: "string" }
    case "number":
      return { type: "number" }
    case "words":
      return { enum: form.words }
    case "list":
      return { type: "array", items: schemaOf(form.item), ...(form.isEmptyAllowed ? {} : { minItems: 1 }) }
    case "either":
      return { anyOf: form.forms.flatMap((each) => (each.kind === "either" ? each.forms : [each])).map(schemaOf) }
    case "object":
      return objectSchema(form.members.filter(isInJson), form.others)
    case "value":
      throw new Error(`${String(form.name)} is not in JSON`)
  }
}

/** Plugins are values of a program. */
const isInJson = ({ form }: Member): boolean => !(form.kind === "list" && form.item.kind === "value")

const objectSchema = (members: ReadonlyArray<Member>, others: Form | undefined): JsonSchema => {
  const required = members.filter(({ isOptional }) => !isOptional).map(({ name }) => name)
  return {
    type: "object",
    ...(members.length === 0
      ? {}
      : { properties: Object.fromEntries(members.map((member) => [member.name, memberSchema(member)])) }),
    ...(required.length === 0 ? {} : { required }),
    additionalProperties: others === undefined ? false : schemaOf(others),
  }
}

const memberSchema = ({ description, form, ...member }: Member): JsonSchema => ({
  ...(description === "" ? {} : { description }),
  ...(member.default === undefined ? {} : { default: member.default }),
  ...schemaOf(form),
})

/** A member, `name` being its path. */
const rowOf = ({ name, description, default: fallback }: Member): string => {
  const cell = (text: string) => text.replaceAll("|", "\\|")
  const shown = fallback === undefined ? "" : `\`${cell(JSON.stringify(fallback))}\``
  return `| \`${name}\` | ${cell(description)} | ${shown} |`
}

/** Each member, followed by its own members. Their names are their paths. */
export const membersIn = (form: Form, path = ""): ReadonlyArray<Member> =>
  form.kind !== "object"
    ? []
    : form.members.flatMap((member) => {
        const name = `${path}${member.name}`
        return [{ ...member, name }, ...innerMembers(withoutNull(member.form), name)]
      })

const withoutNull = (form: Form): Form => {
  if (form.kind !== "either") return form
  const [only, nothing, ...more] = form.forms
  return only !== undefined && nothing?.kind === "words" && more.length === 0 ? only : form
}

const innerMembers = (form: Form, path: string): ReadonlyArray<Member> => {
  if (form.kind === "list") return membersIn(form.item, `${path}[].`)
  if (form.kind !== "object") return []
  return form.members.length === 0 && form.others !== undefined
    ? membersIn(form.others, `${path}.NAME.`)
    : membersIn(form, `${path}.`)
}

/** The text of `config.schema.json`. */
export const schemaText = (): string => {
  const schema = {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "Configuration of Headgate",
    ...schemaOf(config),
    allowTrailingCommas: true,
  }
  return `${JSON.stringify(schema, null, 2)}\n`
}

/** A row of a table for each member: its path, what it means, its default. */
export const memberRows = (): ReadonlyArray<string> => membersIn(config).map(rowOf)

/** The text of `configInput.ts`. */
const inputText = (): string => `/**
 * What an author writes in \`headgate.config.ts\`, as editors show it. Made by \`scripts/configSchema.ts\` of the Schema in
 * \`GatewayConfig.ts\`: what is to be changed is changed there.
 */
${typesOf([config], {
  imported: {
    ModelInput: "../catalogue/schema.ts",
    JsonObject: "../domain/json/json.ts",
    Plugin: "../plugin/loading/discover.ts",
  },
  absent: " | undefined",
})}`

/** The text of `ListedModel.ts`: models without the provider of their hosts, which is the one that lists them. */
const listedText = (): string => `/**
 * A model and its hosts as a provider's plugin lists them. It is the form of \`models\` in the configuration, less the
 * \`provider\` of each host: that is the provider which lists them. Made by \`scripts/configSchema.ts\` of the Schema in
 * \`catalogue/schema.ts\`: what is to be changed is changed there.
 */
${typesOf([listedPrices(), listedModel()], { imported: { Quantization: "../request/Preferences.ts" }, absent: "" })}`

const listedModel = (): Form => {
  const model = objectOf(ModelEntry.ast)
  const host = objectOf(HostEntry.ast)
  const hosts: Member = {
    ...memberOf(model, "hosts"),
    description: "In the order in which they are listed. Default: one host, without a known price.",
    form: { kind: "list", item: { ...without(host, ["provider"]), name: "ListedHost" }, isEmptyAllowed: true },
  }
  return { ...model, name: "ListedModel", members: [...without(model, ["hosts"]).members, hosts] }
}

const listedPrices = (): Form => ({
  ...without(objectOf(PricingEntry.ast), ["discount", "overrides"]),
  name: "ListedPrices",
})

type ObjectForm = Extract<Form, { readonly kind: "object" }>

const objectOf = (ast: AST.AST): ObjectForm => {
  const form = formOf(ast)
  if (form.kind !== "object") throw new Error("expected the Schema of an object")
  return form
}

const memberOf = ({ members }: ObjectForm, name: string): Member => {
  const member = members.find((each) => each.name === name)
  if (member === undefined) throw new Error(`expected a member ${name}`)
  return member
}

const without = (form: ObjectForm, names: ReadonlyArray<string>): ObjectForm => ({
  ...form,
  members: form.members.filter(({ name }) => !names.includes(name)),
})

/** Every file that is made, and the text that it has to have. */
export const madeFiles: ReadonlyArray<{ readonly file: string; readonly text: () => string }> = [
  { file: "config.schema.json", text: schemaText },
  { file: "src/config/configInput.ts", text: inputText },
  { file: "src/domain/hosts/ListedModel.ts", text: listedText },
]

if (import.meta.main) for (const { file, text } of madeFiles) writeFileSync(at(file), text())
