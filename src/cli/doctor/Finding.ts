import type { CheckState } from "../../services/hosts/checkProvider.ts"

/** One thing that was looked at. */
export interface Finding {
  readonly of: string
  readonly state: CheckState
  readonly what: string
}
