/**
 * All views: where each is, who sees it in the navigation, and what loads it. A view is a file whose default export is a component; it
 * reads its filters from the address (`state/router.ts`).
 */
import type { ComponentType } from "preact"

export interface ViewProps {
  /** The `:names` of the view's path, decoded. */
  readonly names: Readonly<Record<string, string>>
}

export interface View {
  /** Below the console's base; see `matched` of lib/address.ts. */
  readonly path: string
  readonly title: string
  /** Where it stands in the navigation; left out for views that are opened from others. */
  readonly section?: "Now" | "Gateway" | "Try"
  /** Which keys may use it. The API decides; this is what the navigation shows. */
  readonly for: "management" | "ordinary" | "both"
  readonly load: () => Promise<{ readonly default: ComponentType<ViewProps> }>
}

export const views: ReadonlyArray<View> = [
  {
    path: "/",
    title: "Overview",
    section: "Now",
    for: "management",
    load: () => import("./overview/Overview.tsx"),
  },
  { path: "/", title: "My key", section: "Now", for: "ordinary", load: () => import("./own/MyKey.tsx") },
  { path: "/live", title: "Live", section: "Now", for: "both", load: () => import("./live/Live.tsx") },
  {
    path: "/requests",
    title: "Requests",
    section: "Now",
    for: "both",
    load: () => import("./requests/Requests.tsx"),
  },
  { path: "/requests/:id", title: "Request", for: "both", load: () => import("./requests/One.tsx") },
  { path: "/keys", title: "Keys", section: "Gateway", for: "management", load: () => import("./keys/Keys.tsx") },
  { path: "/keys/new", title: "New key", for: "management", load: () => import("./keys/NewKey.tsx") },
  { path: "/keys/:hash", title: "Key", for: "management", load: () => import("./keys/Key.tsx") },
  { path: "/models", title: "Models", section: "Gateway", for: "both", load: () => import("./models/Models.tsx") },
  { path: "/models/:id*", title: "Model", for: "both", load: () => import("./models/Model.tsx") },
  {
    path: "/providers",
    title: "Providers",
    section: "Gateway",
    for: "management",
    load: () => import("./providers/Providers.tsx"),
  },
  { path: "/explain", title: "Explain", section: "Try", for: "both", load: () => import("./explain/Explain.tsx") },
  {
    path: "/playground",
    title: "Playground",
    section: "Try",
    for: "both",
    load: () => import("./playground/Playground.tsx"),
  },
  { path: "/start", title: "First steps", for: "management", load: () => import("./start/Start.tsx") },
]
