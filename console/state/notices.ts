/** Short messages: what was done, or what failed. The shell shows them, and reads them to a screen reader. */
import { signal } from "@preact/signals"

export interface Notice {
  readonly id: number
  readonly kind: "done" | "failed"
  readonly text: string
}

export const notices = signal<ReadonlyArray<Notice>>([])

/** Text for a screen reader alone. */
export const announcement = signal("")

export const announce = (text: string): void => {
  announcement.value = text
}

export const dismiss = (id: number): void => {
  notices.value = notices.value.filter((notice) => notice.id !== id)
}

const shownFor = 6000

/** Shows a message for some seconds; one about a failure stays until it is closed. */
export const notify = (kind: Notice["kind"], text: string): void => {
  const id = 1 + Math.max(0, ...notices.value.map((notice) => notice.id))
  notices.value = [...notices.value, { id, kind, text }]
  if (kind === "done") setTimeout(() => dismiss(id), shownFor)
}
