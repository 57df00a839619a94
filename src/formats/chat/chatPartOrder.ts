/** The order of a choice of a chat host that gives its reasoning in pieces, whole and streamed. */
import type { ReasoningDetail } from "../../domain/request/chat.ts"
import { continues, countPiece, isOrderEntry, type Listed, newBlock, orderEntry } from "../conversation.ts"

/**
 * Lists the parts where several blocks are signed: clients merge those (the AI SDK's provider does), and the host
 * refuses them so. Unlike `PartOrder` it keeps the numbers that the host gave, and counts no texts: most pieces of
 * streamed texts are not seen here, since they are spliced.
 */
export class ChatPartOrder {
  private readonly listed: Array<Listed> = []
  private readonly seen = new Set<string>()
  private last: ReasoningDetail | undefined
  private block = newBlock()
  private isListed = false

  reasoned(details: ReadonlyArray<ReasoningDetail>): void {
    for (const detail of details) {
      if (isOrderEntry(detail)) {
        this.isListed = true
        continue
      }
      if (this.last === undefined || !continues(this.last, detail)) {
        this.block = newBlock()
        this.listed.push(this.block)
      }
      this.last = detail
      countPiece(this.block, detail)
    }
  }

  text(): void {
    if (this.isNew("text")) this.listed.push(["text", null])
  }

  calls(pieces: ReadonlyArray<{ readonly id?: string }>): void {
    for (const { id } of pieces) if (id !== undefined && this.isNew(`call ${id}`)) this.listed.push(["call", id])
  }

  /** None where the host has listed the order itself. */
  entry(): ReasoningDetail | undefined {
    const { listed, isListed } = this
    const signed = listed.filter(([kind, , signature]) => kind === "reasoning" && signature != null)
    return isListed || signed.length < 2 ? undefined : orderEntry(listed, listed.length)
  }

  private isNew(part: string): boolean {
    const { size } = this.seen
    return this.seen.add(part).size > size
  }
}
