import type { Plan } from "../../domain/routing/Plan.ts"
import type { RequestContext } from "../../services/request/RequestContext.ts"
import type { Asked, Form } from "./Form.ts"
import type { ShownRoute } from "./routeMetadata.ts"

/** A request that has a plan. */
export interface Planned {
  readonly form: Form
  readonly context: RequestContext
  readonly asked: Asked
  readonly plan: Plan
  /** The routing, for callers who ask for it. */
  readonly shown: ShownRoute | undefined
}
