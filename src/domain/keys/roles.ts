/** What management keys may do. Each role may also do what those before it may. See docs/decisions/0082-roles-of-management-keys.md. */

/**
 * - `read`: see everything that management sees.
 * - `keys`: also make, change, rotate and delete ordinary keys.
 * - `all`: everything, such as management keys, a reload of the configuration, and backups.
 */
export const roles = ["read", "keys", "all"] as const

export type Role = (typeof roles)[number]

/** What of a key says what it may do. */
interface Holder {
  readonly kind: "ordinary" | "management"
  readonly role: Role | null
}

/** `null`: an ordinary key. A management key that an embedder lets in without a role has all of them. */
export const roleOf = ({ kind, role }: Holder): Role | null => (kind === "ordinary" ? null : (role ?? "all"))

/** Whether a role may do what needs `needed`. */
export const covers = (role: Role, needed: Role): boolean => roles.indexOf(role) >= roles.indexOf(needed)

/** `needed`, and the roles that cover it, for a message. */
export const coveringRoles = (needed: Role): string =>
  roles
    .filter((role) => covers(role, needed))
    .map((role) => `"${role}"`)
    .join(" or ")
    .replace(/ or (?=.* or )/g, ", ")

/** Whether a key may do everything, for as long as it is not changed. One such key has to stay. */
export const isLastingManager = (
  key: Holder & { readonly disabled: boolean; readonly expiresAt: number | null },
): boolean => roleOf(key) === "all" && !key.disabled && key.expiresAt === null
