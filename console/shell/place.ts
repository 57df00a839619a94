/** The view that the address asks for. */
import { computed } from "@preact/signals"
import { matched } from "../lib/address.ts"
import { path } from "../state/router.ts"
import { isManagement } from "../state/session.ts"
import { type View, views } from "../views/views.ts"

interface Place {
  readonly view: View
  /** The `:names` of the view's path. */
  readonly names: Readonly<Record<string, string>>
}

/** The views for the key that is signed in. */
export const ownViews = computed(() =>
  views.filter((view) => view.for === "both" || (view.for === "management") === isManagement.value),
)

/** Loads the view at this address, of several that for management keys. A failure is met again, and told, when it is shown. */
export const preload = (): void => {
  const likely = views.find((view) => matched(view.path, path.peek()) !== null)
  likely?.load().catch(() => {})
}

/** `null`: there is none at this address, or none for this kind of key. */
export const place = computed<Place | null>(() => {
  for (const view of ownViews.value) {
    const names = matched(view.path, path.value)
    if (names !== null) return { view, names }
  }
  return null
})
