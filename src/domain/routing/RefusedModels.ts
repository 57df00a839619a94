/** Which hosts of a model are still tried after one of them found the request at fault. Pure. See docs/guarantees.md#g10. */
import type { HostFailed } from "../failures/Failure.ts"
import type { Host } from "../hosts/Host.ts"

const codes = /context_(?:length|window|size)|(?:prompt|input|string|request)_too_(?:long|large)/i
const words = /context (?:length|window|size)|maximum context|(?:prompt|input) is too long/i

/** Whether a host refused the request because the prompt is too long for it. */
export const isTooLong = ({ reason, code, detail }: HostFailed): boolean =>
  reason === "request" && (codes.test(code ?? "") || words.test(detail ?? ""))

/**
 * What refusals leave of the models of a plan. A request that one host refuses is refused by the model's other hosts
 * too, and they are not tried: but where the prompt was too long, one with a longer context may take it. Other models
 * are tried after any failure.
 */
export class RefusedModels {
  /** By model: the context length, in tokens, that a host must exceed to be tried. */
  private longest: Map<string, number> | undefined

  add(host: Host, failure: HostFailed): void {
    if (failure.reason !== "request") return
    const needed = isTooLong(failure) ? host.contextLength : Number.POSITIVE_INFINITY
    this.longest ??= new Map()
    this.longest.set(host.model, Math.max(needed, this.longest.get(host.model) ?? 0))
  }

  has({ model, contextLength }: Host): boolean {
    return contextLength <= (this.longest?.get(model) ?? 0)
  }
}
