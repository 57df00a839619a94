/**
 * The fields of keys, one row for each: `keyFields`. A new field is a row here and a migration (`sql/tables/stepsSince18.ts`); of a new
 * kind of value, also that kind (`keyValues.ts`). See docs/decisions/0059-one-row-per-key-field.md.
 */
import * as Schema from "effect/Schema"
import { KeyId } from "../ids.ts"
import {
  addressRanges,
  amount,
  type KeyValue,
  name,
  optional,
  patterns,
  rate,
  tags,
  text,
  textThat,
  time,
  yesOrNo,
} from "./keyValues.ts"
import { limitResets } from "./limitWindows.ts"
import { roles } from "./roles.ts"

/** The flag of `headgate keys create` and `keys change` that sets a field. */
export interface KeyFlag<Wire = unknown> {
  /** Without `--`. */
  readonly name: string
  /** What `--help` says of it. At creation a field that is required is an argument, which has no flag. */
  readonly atCreation?: string
  readonly atChange?: string
  /** Where it may be given several times, or takes one of some words. Else it takes a text. */
  readonly takes?: "several" | ReadonlyArray<string>
  /** The word that is `null` in a change. */
  readonly none?: string
  /** What that word stands for in place of `null`. */
  readonly empty?: Wire
  /** Reads its text. Where it gives `undefined`, `refusal` says what was expected. Without it the text is the value. */
  readonly read?: (text: string) => Wire | undefined
  readonly refusal?: string
}

/** A row of the table, beside the kind of its values. */
interface Facts<A, Wire> {
  /** Its name in requests and answers. */
  readonly wire: string
  /** Its column, where that has another name. The audit log names fields by their columns. */
  readonly column?: string
  /** The value in a key that was made without one. A field without it is what a key is known by. */
  readonly otherwise?: A
  /** Whether the request that makes a key has it. Fields without this, and without `changeable`, are set by the gateway alone. */
  readonly atCreation?: "required" | "optional"
  readonly changeable?: true
  /** Whether answers to management lack it. */
  readonly isHidden?: true
  /** Whether `GET /key` shows it, which every key may ask for. */
  readonly isOwn?: true
  /** Whether it is about requests to models, which management keys do not make. */
  readonly isOfModels?: true
  /** Its name in `headgate keys show`, and its heading in `keys list`. */
  readonly title?: string
  readonly heading?: string
  readonly flag?: KeyFlag<Wire>
}

/** `F` keeps the words of a row as types, of which the types below are made. */
const field = <A, Wire, const F extends Facts<A, Wire>>(kind: KeyValue<A, Wire>, facts: F) => ({ kind, ...facts })

/** An amount of USD in a terminal; `none`: no limit. */
const typedAmount = (written: string): number | null | undefined => {
  if (written === "none") return null
  return /^\d+(\.\d+)?$/.test(written) ? Number(written) : undefined
}

/** `100/60`: so many requests in so many seconds. */
const typedRate = (written: string) => {
  const [, requests, seconds] = /^(\d+)\/(\d+)$/.exec(written) ?? []
  return requests === undefined ? undefined : { requests: Number(requests), interval_s: Number(seconds) }
}

/**
 * Every field of a key, in the order of the table of keys. What requests may set, what answers and terminals show, the columns and
 * the flags are made from this table. What a field does is said where it is done.
 */
export const keyFields = {
  /** Lower-case hex SHA-256 of the key's first secret: its id, which a rotation does not change. */
  id: field(textThat(Schema.typeSchema(KeyId)), { wire: "hash", column: "id", title: "hash", heading: "HASH" }),
  kind: field(textThat(Schema.Literal("ordinary", "management")), {
    wire: "kind",
    otherwise: "ordinary",
    isHidden: true,
  }),
  name: field(name, {
    wire: "name",
    otherwise: "",
    atCreation: "required",
    changeable: true,
    title: "name",
    heading: "NAME",
    flag: { name: "name" },
  }),
  /** The masked key: first characters, three dots, last three. */
  label: field(text, { wire: "label", otherwise: "", isOwn: true, title: "label", heading: "LABEL" }),
  disabled: field(yesOrNo, { wire: "disabled", otherwise: false, changeable: true }),
  /** `null`: none. */
  limit: field(optional(amount), {
    wire: "limit",
    column: "limit_amount",
    otherwise: null,
    atCreation: "optional",
    changeable: true,
    isOfModels: true,
    isOwn: true,
    title: "limit",
    heading: "LIMIT",
    flag: {
      name: "limit",
      atCreation: "most that it may spend, in USD",
      atChange: "most that it may spend, in USD, or none",
      read: typedAmount,
      refusal: "expected an amount of USD such as 12.50, or none",
    },
  }),
  /** How often the limit resets, at 00:00 UTC; `null`: never. */
  limitReset: field(optional(textThat(Schema.Literal(...limitResets))), {
    wire: "limit_reset",
    otherwise: null,
    atCreation: "optional",
    changeable: true,
    isOfModels: true,
    isOwn: true,
    title: "limit_reset",
    heading: "RESET",
    flag: {
      name: "reset",
      atCreation: "the limit starts anew at 00:00 UTC each day, Monday or first of the month",
      atChange: "how often the limit starts anew",
      takes: limitResets,
      none: "never",
    },
  }),
  includeByokInLimit: field(yesOrNo, {
    wire: "include_byok_in_limit",
    otherwise: false,
    atCreation: "optional",
    changeable: true,
    isOfModels: true,
    isOwn: true,
  }),
  /** How many requests to models it may make; `null`: any number. */
  rateLimit: field(optional(rate), {
    wire: "rate_limit",
    otherwise: null,
    atCreation: "optional",
    changeable: true,
    isOfModels: true,
    title: "rate_limit",
    flag: {
      name: "rate",
      atCreation: "most requests/seconds, such as 100/60",
      atChange: "most requests/seconds, such as 100/60, or none",
      none: "none",
      read: typedRate,
      refusal: "--rate: expected requests/seconds such as 100/60",
    },
  }),
  /** Patterns of model ids; `null`: every model is allowed. */
  allowedModels: field(optional(patterns, "all"), {
    wire: "allowed_models",
    otherwise: null,
    atCreation: "optional",
    changeable: true,
    isOfModels: true,
    title: "models",
    flag: {
      name: "model",
      atCreation: "a pattern of models it may use",
      atChange: "a pattern of models it may use, in place of those before; none: all",
      takes: "several",
      none: "none",
    },
  }),
  /** Patterns of a host's tag, of its provider's slug, or of the provider's display name; `null`: every host is allowed. */
  allowedProviders: field(optional(patterns, "all"), {
    wire: "allowed_providers",
    otherwise: null,
    atCreation: "optional",
    changeable: true,
    isOfModels: true,
    title: "providers",
    flag: {
      name: "provider",
      atCreation: "a pattern of providers it may use",
      atChange: "a pattern of providers it may use, in place of those before; none: all",
      takes: "several",
      none: "none",
    },
  }),
  /** Ranges of IP addresses that it may be used from (`http/CallerAddresses.ts`); `null`: every address. */
  allowedAddresses: field(addressRanges, {
    wire: "allowed_addresses",
    otherwise: null,
    atCreation: "optional",
    changeable: true,
    title: "addresses",
    flag: {
      name: "allow-address",
      atCreation: "an address or range (CIDR) it may be used from",
      atChange: "an address or range (CIDR) it may be used from, in place of those before; none: all",
      takes: "several",
      none: "none",
    },
  }),
  /** Unix milliseconds. A request that was admitted before may end after it. */
  expiresAt: field(optional(time), {
    wire: "expires_at",
    otherwise: null,
    atCreation: "optional",
    changeable: true,
    isOwn: true,
    title: "expires_at",
    flag: {
      name: "expires",
      atCreation: "until when it is accepted, such as 2030-01-31T00:00:00Z",
      atChange: "until when it is accepted, such as 2030-01-31T00:00:00Z, or none",
      none: "none",
    },
  }),
  /** What a management key may do; `null`: it is an ordinary key. */
  role: field(optional(textThat(Schema.Literal(...roles))), {
    wire: "role",
    otherwise: null,
    atCreation: "optional",
    changeable: true,
    title: "role",
    flag: {
      name: "role",
      atCreation: "makes a management key: one that reads, one that also manages ordinary keys, or one that may do all",
      atChange: "what a management key may do",
      takes: roles,
    },
  }),
  createdAt: field(time, { wire: "created_at", otherwise: 0, title: "created_at" }),
  updatedAt: field(optional(time), { wire: "updated_at", otherwise: null }),
  /** Words of the operator's own, by which keys are found. */
  tags: field(tags, {
    wire: "tags",
    otherwise: [],
    atCreation: "optional",
    changeable: true,
    title: "tags",
    flag: {
      name: "tag",
      atCreation: "a word by which it is found, 1 to 64 characters without commas; at most 16 of them",
      atChange: "a word by which it is found, in place of those before; none: no word",
      takes: "several",
      none: "none",
      empty: [],
    },
  }),
  /** Who answers for it, in the operator's words. */
  owner: field(optional(name), {
    wire: "owner",
    otherwise: null,
    atCreation: "optional",
    changeable: true,
    title: "owner",
    flag: {
      name: "owner",
      atCreation: "who answers for it, at most 200 characters; its holder does not see it",
      atChange: "who answers for it, or none",
      none: "none",
    },
  }),
  creatorUserId: field(optional(name), { wire: "creator_user_id", otherwise: null, atCreation: "optional" }),
  /** The installation's own: a request may name it, and no other (`http/control/keys/keyRequests.ts`). */
  workspaceId: field(text, {
    wire: "workspace_id",
    otherwise: "00000000-0000-0000-0000-000000000000",
    isOwn: true,
  }),
}

export type KeyFields = typeof keyFields
export type KeyMember = keyof KeyFields
export type WireOf<M extends KeyMember> = Schema.Schema.Type<KeyFields[M]["kind"]["answer"]>

/** Made from the table: what each field is stands there. */
export type KeyRecord = { readonly [M in keyof KeyFields]: Schema.Schema.Type<KeyFields[M]["kind"]["value"]> }

/** Who uses the key: keys with the same owner count as one caller. */
export const callerOf = ({ owner, id }: Pick<KeyRecord, "owner" | "id">): string => owner ?? id

/** Members whose rows have such a fact. */
type MemberWith<Fact> = { [M in KeyMember]: KeyFields[M] extends Fact ? M : never }[KeyMember]

export type ChangeableMember = MemberWith<{ readonly changeable: true }>
/** Members that may be set when a key is made; all but the name have a default. */
export type SettableMember = MemberWith<{ readonly atCreation: "required" | "optional" }>
export type HiddenMember = MemberWith<{ readonly isHidden: true }>
export type OwnMember = MemberWith<{ readonly isOwn: true }>
export type TitledMember = MemberWith<{ readonly title: string }>

// The type of Object.keys does not say that these are the members of the table.
export const keyMembers = Object.keys(keyFields) as ReadonlyArray<KeyMember>

/** The kind of a member's values. */
export const kindOf = <M extends KeyMember>(member: M): KeyValue<KeyRecord[M], WireOf<M>> =>
  // For each row this is its own type; TypeScript sees the union over all rows.
  keyFields[member].kind as unknown as KeyValue<KeyRecord[M], WireOf<M>>

/** The rest of its row, with every fact that a row may have. */
export const factsOf = (member: KeyMember): Facts<unknown, unknown> => keyFields[member]

export const isChangeable = (member: KeyMember): member is ChangeableMember => factsOf(member).changeable === true
export const isSettable = (member: KeyMember): member is SettableMember => factsOf(member).atCreation !== undefined
export const isHidden = (member: KeyMember): member is HiddenMember => factsOf(member).isHidden === true
export const isOwn = (member: KeyMember): member is OwnMember => factsOf(member).isOwn === true
export const isOfModels = (member: KeyMember): boolean => factsOf(member).isOfModels === true
export const hasTitle = (member: KeyMember): member is TitledMember => factsOf(member).title !== undefined

/** Members of a key that was made without them; also for keys that are not stored here. Every row but the id's has one. */
export const unlimitedKey = Object.fromEntries(
  Object.entries(keyFields).flatMap(([member, row]) => ("otherwise" in row ? [[member, row.otherwise]] : [])),
) as { readonly [M in Exclude<KeyMember, "id">]: KeyFields[M]["otherwise"] }
