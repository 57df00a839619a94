/** The money that is reserved for one attempt, and how that reservation ends. */

import type { Host } from "../../domain/hosts/Host.ts"
import type { Answer, ErrorFinish, Measures } from "../../domain/money/Charge.ts"
import type { KeyAccount } from "../../domain/money/KeyAccount.ts"
import type { OutputAllowance, ReservationSize } from "../../domain/money/reservation.ts"
import type { Slice } from "../../domain/money/Slice.ts"
import type { ChatUsage } from "../../domain/request/chat.ts"
import type { MediaTokens } from "../../domain/request/MediaTokens.ts"
import type { Member } from "../../domain/structures/Roster.ts"
import type { UsedKey } from "../hosts/ProviderKeys.ts"
import type { RequestContext } from "../request/RequestContext.ts"

/**
 * Money reserved for one attempt. Ended by `settle` or `release`, whichever comes first. Does not refer to the caller's
 * body.
 */
export interface Reservation extends ReservationSize, Measures, Member {
  readonly context: RequestContext
  /** The money of its key. */
  readonly account: KeyAccount
  readonly host: Host
  /** The rule of its admission. */
  readonly errorFinish: ErrorFinish
  readonly streamed: boolean
  /** `ReservationRequest.mostHidden`. */
  readonly mostHidden: number
  /** For a stream of a key with a limit. `amount` grows with it. */
  readonly output: OutputAllowance | undefined
  /** That the amount is taken from; `undefined`: this process has the whole budget. */
  readonly slice: Slice | undefined
  /** Which of several keys of the provider is used; `undefined`: there are no several. */
  readonly providerKey: UsedKey | undefined
  /** How far its attempt has come, for the journal. Set by the attempt. */
  progress: "held" | "dispatched" | Streamed
}

/** What a stream has delivered so far. */
export interface Streamed {
  readonly outputBytes: number
  readonly outputMedia?: MediaTokens | undefined
  readonly usageSoFar: ChatUsage | undefined
}

/** What is known of an answer when it has ended, in addition to its reservation. */
export interface Settlement extends Answer {
  /** Milliseconds from admission to the first token. */
  readonly latencyMs: number
  /** Whether the caller waits for the booking, and gets an error in place of the answer when that fails. */
  readonly isAwaited: boolean
}
