/** A task of an agent. */
import type { JsonObject } from "../../../src/domain/json/json.ts"
import type { Called } from "./AgentHost.ts"
import type { FormName, Keeps } from "./forms.ts"
import type { HostName } from "./hosts.ts"

/** What the host calls in one answer, and what comes of it. */
export interface Step {
  readonly calls: ReadonlyArray<Omit<Called, "id">>
  /** Tools that the search of this step finds. */
  readonly found?: ReadonlyArray<JsonObject>
}

export interface Task {
  readonly form: FormName
  readonly headers: Readonly<Record<string, string>>
  readonly body: JsonObject
  readonly keeps: Keeps
  readonly steps: ReadonlyArray<Step>
  /** Whether hosts have a price for searches. */
  readonly searches?: boolean
  /** What hosts are to run, by host. Default: nothing. */
  readonly runs?: Readonly<Partial<Record<HostName, string>>>
}
