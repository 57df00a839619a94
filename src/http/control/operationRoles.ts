/** Which role of a management key each operation of management needs. See docs/decisions/0082-roles-of-management-keys.md. */
import { NotPermitted } from "../../domain/failures/Failure.ts"
import { coveringRoles, covers, type Role } from "../../domain/keys/roles.ts"

/**
 * Operations by method and path. Of those that are not here, a `GET` needs `read`, and everything else `all`, so that a new operation which
 * changes something is not open to more keys than was meant.
 */
const operationRoles: Readonly<Record<string, Role>> = {
  // Where the key of the path is a management key, `all` (keys/keys.ts).
  "POST /api/v1/keys": "keys",
  "PATCH /api/v1/keys/:hash": "keys",
  "DELETE /api/v1/keys/:hash": "keys",
  "POST /api/v1/keys/:hash/rotate": "keys",
  // The whole database, with kept answers of models in it.
  "GET /api/v1/backup": "all",
}

/** `operation`: method and path, as `GET /api/v1/keys/:hash`; `undefined`: it is not known. */
export const roleFor = (operation: string | undefined): Role => {
  if (operation === undefined) return "all"
  return operationRoles[operation] ?? (operation.startsWith("GET ") ? "read" : "all")
}

/** Why a key with this role may not do what needs `needed`; `undefined`: it may. */
export const roleRefusal = (role: Role, needed: Role): NotPermitted | undefined =>
  covers(role, needed)
    ? undefined
    : new NotPermitted({
        rule: `This needs a management key with the role ${coveringRoles(needed)}; this one has "${role}".`,
      })
