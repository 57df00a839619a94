/** Decoding of key management requests. Every field is checked, and all problems are reported at once. */
import * as Effect from "effect/Effect"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as AST from "effect/SchemaAST"
import { BadRequest } from "../../../domain/failures/Failure.ts"
import type { Issue } from "../../../domain/json/checks.ts"
import { inOrder } from "../../../domain/json/inOrder.ts"
import { problemsOf } from "../../../domain/json/Problem.ts"
import {
  type ChangeableMember,
  isChangeable,
  isOfModels,
  isSettable,
  type KeyFields,
  type KeyMember,
  type KeyRecord,
  keyFields,
  keyMembers,
  kindOf,
  type SettableMember,
  type WireOf,
} from "../../../domain/keys/key.ts"
import { isTag, tagRule, wholeAmount } from "../../../domain/keys/keyValues.ts"
import { OwnWorkspace } from "../Installation.ts"
import { offset, optional, parameter, searched, wholeNumber, word } from "../query.ts"

type Named<M extends KeyMember, Optional extends "?:" | ":"> = Schema.PropertySignature<
  Optional,
  KeyRecord[M],
  KeyFields[M]["wire"],
  Optional,
  WireOf<M>,
  false
>

const required = (member: SettableMember): boolean => keyFields[member].atCreation === "required"

const named = <M extends KeyMember>(member: M, isRequired: boolean) => {
  const { request } = kindOf(member)
  const { wire } = keyFields[member]
  // Absent means unchanged, or the default; where null is allowed, it means none.
  const one = isRequired ? Schema.propertySignature(request) : optional(request)
  // A member that keeps its name is not renamed, which would change its description in /openapi.json.
  return member === wire ? one : Schema.fromKey(one, wire)
}

// A member for each row of the table that may be set, or changed. Object.fromEntries loses that type.
const settable = Object.fromEntries(
  keyMembers.filter(isSettable).map((member) => [member, named(member, required(member))]),
) as unknown as {
  readonly [M in SettableMember]: Named<M, KeyFields[M]["atCreation"] extends "required" ? ":" : "?:">
}
const changeable = Object.fromEntries(
  keyMembers.filter(isChangeable).map((member) => [member, named(member, false)]),
) as unknown as { readonly [M in ChangeableMember]: Named<M, "?:"> }

export const NewKey = Schema.Struct(
  inOrder(
    { ...settable, workspaceId: optional(OwnWorkspace).pipe(Schema.fromKey("workspace_id")) },
    { includeByokInLimit: ["expiresAt", "tags", "owner", "creatorUserId", "workspaceId"] },
  ),
).annotations({ identifier: "NewKey" })

export const KeyChange = Schema.Struct(
  inOrder(changeable, { includeByokInLimit: ["expiresAt", "tags", "owner"] }),
).annotations({
  identifier: "KeyChange",
})

/** `overlap_s`: for how many seconds the earlier secrets are still accepted, 30 days at most. Default: a day. */
export const Rotation = Schema.Struct({
  overlapSeconds: Schema.optionalWith(wholeAmount(0, 30 * 86_400), { exact: true, default: () => 86_400 }).pipe(
    Schema.fromKey("overlap_s"),
  ),
}).annotations({ identifier: "Rotation" })

/** Query of the list. A page has 100 keys at most. */
export const KeyQuery = Schema.Struct({
  offset: Schema.optionalWith(offset, { exact: true, default: () => 0 }),
  limit: Schema.optionalWith(wholeNumber(1, 100), { exact: true, default: () => 100 }),
  include_disabled: optional(
    Schema.Literal("true", "false").annotations({
      message: () => ({ message: 'expected "true" or "false"', override: true }),
    }),
  ),
  workspace_id: optional(OwnWorkspace),
  kind: optional(word(["ordinary", "management"])),
  /** Keys with this tag. */
  tag: optional(
    parameter(
      Schema.String,
      { rule: tagRule, jsonSchema: { type: "string", minLength: 1, maxLength: 64 } },
      (written) => (isTag(written) ? written : undefined),
    ),
  ),
  /** Keys with this text in name, label or owner. */
  search: optional(searched),
}).annotations({ parseOptions: { errors: "all" } })

type Wanted = { readonly [M in KeyMember]?: unknown }

/** A key of this kind has these members, and no others. */
export const fitsKind = <W extends Wanted>(kind: KeyRecord["kind"], wanted: W): Effect.Effect<W, BadRequest> => {
  const [first, ...more] = keyMembers.flatMap((member): ReadonlyArray<Issue> => {
    const { wire: path } = keyFields[member]
    const value = wanted[member]
    if (value === undefined) return []
    if (member === "role") {
      if ((value === null) === (kind === "ordinary")) return []
      return [{ path, message: value === null ? "a management key needs one" : "this key is none of management" }]
    }
    const isOff = value === null || value === false
    return kind === "ordinary" || isOff || !isOfModels(member)
      ? []
      : [{ path, message: "cannot be set: a management key calls no models" }]
  })
  return first === undefined ? Effect.succeed(wanted) : Effect.fail(new BadRequest({ issues: [first, ...more] }))
}

/**
 * Decodes a body strictly. `known`: all members of a key. One that a caller may not set gets another message than an
 * unknown one.
 */
export const decodeBody = <A, I, R>(schema: Schema.Schema<A, I, R>, known: ReadonlySet<string>) => {
  const decode = ParseResult.decodeUnknown(schema, { errors: "all", onExcessProperty: "error" })
  const settable = new Set(AST.getPropertySignatures(Schema.encodedSchema(schema).ast).map(({ name }) => String(name)))
  const worded = ({ path, message }: Issue): Issue =>
    known.has(path) && !settable.has(path) ? { path, message: "this field cannot be set" } : { path, message }
  return (body: unknown): Effect.Effect<A, BadRequest, R> =>
    Effect.mapError(decode(body), (issue) => {
      const [first = { path: "", message: "not a valid body" }, ...more] = problemsOf(issue).map(worded)
      return new BadRequest({ issues: [first, ...more] })
    })
}
