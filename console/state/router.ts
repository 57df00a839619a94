/** The address: which view is shown, and its filters. Views read signals, links are plain `<a href>`. */
import { computed, signal } from "@preact/signals"
import { base } from "../api/base.ts"
import { changed, hrefIn, type Parameters, pathBelow } from "../lib/address.ts"

const address = signal(new URL(location.href))

/** Below the console's base: "/", "/requests". */
export const path = computed(() => pathBelow(base, address.value.pathname))

/** The text of the parameters, so that what depends on them changes only when they do. */
const search = computed(() => address.value.search)

export const parameters = computed(() => new URLSearchParams(search.value))

/** The address of a view with parameters: for `href`. */
export const href = (to: string, query: Parameters = {}): string => hrefIn(base, to, query)

/** The address of the view that is shown, with `changes` of its parameters: for `href`. */
export const hrefWith = (changes: Parameters): string =>
  hrefIn(base, path.value, Object.fromEntries(changed(parameters.value, changes)))

const show = (to: string, replaces: boolean) => {
  if (replaces) history.replaceState(null, "", to)
  else history.pushState(null, "", to)
  address.value = new URL(location.href)
}

/** Shows another view, as a click on a link does. */
export const go = (to: string): void => show(to, false)

/** Changes parameters of the address in place: for filters that are typed. */
export const setParameters = (changes: Parameters, options: { readonly isStep?: boolean } = {}): void =>
  show(hrefWith(changes), options.isStep !== true)

/** Whether a click is one that the browser should handle itself. */
const isForBrowser = (event: MouseEvent, link: HTMLAnchorElement): boolean =>
  event.defaultPrevented ||
  event.button !== 0 ||
  event.metaKey ||
  event.ctrlKey ||
  event.shiftKey ||
  event.altKey ||
  link.target !== "" ||
  link.hasAttribute("download") ||
  link.origin !== location.origin ||
  !(link.pathname === base || link.pathname.startsWith(`${base}/`))

/** Follows the browser's history and clicks on links. Called once, at the start. */
export const followAddress = (): void => {
  addEventListener("popstate", () => {
    address.value = new URL(location.href)
  })
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a[href]") : null
    if (!(link instanceof HTMLAnchorElement) || isForBrowser(event, link)) return
    event.preventDefault()
    if (link.href === location.href) return
    go(link.href)
  })
}
