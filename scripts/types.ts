/** Declarations of TypeScript for what is written in a certain form, with what is said of each member as a comment, which editors show. */
import type { Form, Member, Word } from "./writtenForm.ts"

interface Elsewhere {
  /** Types that are declared elsewhere, with their files. */
  readonly imported: Readonly<Record<string, string>>
  /** What a member that may be left out has beside its type. */
  readonly absent: "" | " | undefined"
}

/** The declarations of these forms, which have names, and of all named ones within. */
export const typesOf = (forms: ReadonlyArray<Form>, { imported, absent }: Elsewhere): string => {
  const names = new Map<string, Form>()
  for (const form of forms) gather(form, imported, names)
  const imports = Object.entries(imported)
    .filter(([name]) => names.has(name))
    .map(([name, file]) => `import type { ${name} } from ${JSON.stringify(file)}\n`)
  const own = Array.from(names).filter(([name]) => !Object.hasOwn(imported, name))
  return `${imports.join("")}\n${own.map(([name, form]) => declaration(name, form, absent)).join("\n")}`
}

/** Adds the named types, the inner ones first. */
const gather = (form: Form, imported: Elsewhere["imported"], into: Map<string, Form>): void => {
  const { name } = form
  if (name !== undefined && into.has(name)) return
  if (name === undefined || !Object.hasOwn(imported, name))
    for (const each of innerForms(form)) gather(each, imported, into)
  if (name !== undefined) into.set(name, form)
}

const innerForms = (form: Form): ReadonlyArray<Form> => {
  switch (form.kind) {
    case "object":
      return [...form.members.map((member) => member.form), ...(form.others === undefined ? [] : [form.others])]
    case "list":
      return [form.item]
    case "either":
      return form.forms
    default:
      return []
  }
}

/** How the members of an object are written: where they begin in a line, and what optional ones have beside their type. */
interface Style {
  readonly indent: string
  readonly absent: Elsewhere["absent"]
}

const declaration = (name: string, form: Form, absent: Elsewhere["absent"]): string => {
  const said = form.documentation === undefined ? "" : `/** ${form.documentation} */\n`
  const { name: _, ...body } = form
  const style = { indent: "", absent }
  return body.kind === "object"
    ? `${said}export interface ${name} ${bodyOf(body.members, body.others, style)}\n`
    : `${said}export type ${name} = ${typeOf(body, style)}\n`
}

const bodyOf = (members: ReadonlyArray<Member>, others: Form | undefined, { indent, absent }: Style): string => {
  const inner = { indent: `${indent}  `, absent }
  const lines = members.map(({ name, isOptional, form, ...said }) => {
    const type = isOptional ? `?: ${typeOf(form, inner)}${absent}` : `: ${typeOf(form, inner)}`
    return `${commentOf(said, inner.indent)}${inner.indent}readonly ${name}${type}\n`
  })
  const rest = others === undefined ? "" : `${inner.indent}readonly [other: string]: ${typeOf(others, inner)}\n`
  return `{\n${lines.join("")}${rest}${indent}}`
}

const commentOf = (said: Pick<Member, "description" | "default">, indent: string): string => {
  if (said.default === undefined) return `${indent}/** ${said.description} */\n`
  const lines = [said.description, `@default ${JSON.stringify(said.default)}`]
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}\n`).join("")}${indent} */\n`
}

const typeOf = (form: Form, style: Style): string => {
  if (form.name !== undefined) return form.name
  switch (form.kind) {
    case "anything":
      return "unknown"
    case "text":
      return "string"
    case "number":
      return "number"
    case "words":
      return wordsOf(form.words)
    case "list": {
      const item = typeOf(form.item, style)
      return form.isEmptyAllowed ? `ReadonlyArray<${item}>` : `readonly [${item}, ...ReadonlyArray<${item}>]`
    }
    case "either":
      return form.forms.map((each) => typeOf(each, style)).join(" | ")
    case "object":
      return form.members.length === 0 && form.others !== undefined
        ? `Readonly<Record<string, ${typeOf(form.others, style)}>>`
        : bodyOf(form.members, form.others, style)
    case "value":
      throw new Error("A value that JSON does not have needs the name of its type")
  }
}

/** `null` stands last. */
const wordsOf = (words: ReadonlyArray<Word>): string => {
  const both = words.includes(true) && words.includes(false)
  const others = words.filter((word) => word !== null && !(both && typeof word === "boolean"))
  const shown = [...(both ? ["boolean"] : []), ...others.map((word) => JSON.stringify(word))]
  return [...shown, ...(words.includes(null) ? ["null"] : [])].join(" | ")
}
