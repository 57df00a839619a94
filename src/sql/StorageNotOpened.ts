/** Why a database was not opened. */
import * as Data from "effect/Data"

/** The database was not opened, and nothing in it was changed. `message` names it and what to do, and no secret. */
export class StorageNotOpened extends Data.TaggedError("StorageNotOpened")<{
  /** `unreachable`: its server does not answer. `misconfigured`: it does not let us in. `older`, `unreadable`: only where it is just read. */
  readonly reason:
    | "in-use"
    | "unwritable"
    | "unreadable"
    | "corrupt"
    | "altered"
    | "newer"
    | "older"
    | "unreachable"
    | "misconfigured"
  readonly message: string
}> {}
