/** Navigation and the view. */
import type { ComponentType } from "preact"
import { useEffect, useRef, useState } from "preact/hooks"
import { asFailure } from "../api/ApiFailure.ts"
import { prefix } from "../api/base.ts"
import { Page } from "../components/layout.tsx"
import { Empty, Failed, Waiting } from "../components/Shown.tsx"
import { Time } from "../components/values.tsx"
import { notify } from "../state/notices.ts"
import { href, path } from "../state/router.ts"
import { session, signOut } from "../state/session.ts"
import type { View, ViewProps } from "../views/views.ts"
import { Boundary } from "./Boundary.tsx"
import { Mark } from "./Mark.tsx"
import { ownViews, place } from "./place.ts"

const sections = ["Now", "Gateway", "Try"] as const

export const Shell = ({ isBeneath }: { readonly isBeneath: boolean }) => {
  const [isOpen, setOpen] = useState(false)
  const at = path.value
  useEffect(() => setOpen(false), [at])
  return (
    <div class="shell" inert={isBeneath}>
      {/* biome-ignore lint/a11y/useValidAnchor: it leads to the content; the click puts the focus there, too. */}
      <a class="skip" href="#content" onClick={focusHeading}>
        Skip to the content
      </a>
      <header class="side">
        <div class="side-inner">
          <div class="side-top">
            <a class="home" href={href("/")}>
              <Mark />
              Headgate
            </a>
            <button
              type="button"
              class="button menu"
              aria-expanded={isOpen}
              aria-controls="menu"
              onClick={() => setOpen(!isOpen)}
            >
              Menu
            </button>
          </div>
          <div id="menu" class={`side-menu ${isOpen ? "is-open" : ""}`}>
            <Navigation />
            <Who />
          </div>
        </div>
      </header>
      <main class="content" id="content">
        <Current />
      </main>
    </div>
  )
}

const focusHeading = (event: Event) => {
  event.preventDefault()
  document.querySelector<HTMLElement>("main h1")?.focus()
}

const Navigation = () => {
  const current = place.value?.view
  return (
    <nav aria-label="Views">
      {sections.map((section) => {
        const listed = ownViews.value.filter((view) => view.section === section)
        return listed.length === 0 ? null : (
          <ul key={section}>
            {listed.map((view) => (
              <li key={view.path}>
                <a href={href(view.path)} aria-current={isWithin(current, view) ? "page" : undefined}>
                  {view.title}
                </a>
              </li>
            ))}
          </ul>
        )
      })}
    </nav>
  )
}

/** A view below another one, such as one request, stands below it in the navigation. */
const isWithin = (current: View | undefined, listed: View): boolean =>
  current !== undefined &&
  (current.path === listed.path || (listed.path !== "/" && current.path.startsWith(`${listed.path}/`)))

const roleWords = { read: "may read all", keys: "may change keys", all: "may do everything" } as const

const Who = () => {
  const current = session.value
  if (current === null) return null
  const leave = async () => {
    try {
      await signOut()
    } catch (cause) {
      const failure = asFailure(cause)
      notify("failed", `You are still signed in: ${failure.message} ${failure.toDo}`)
    }
  }
  return (
    <div class="who small">
      <p class="who-name" title={current.name}>
        {current.name}
      </p>
      <p class="muted">
        {current.role === null ? "its own requests" : roleWords[current.role]}
        {current.expires_at === null ? null : (
          <>
            , until <Time at={current.expires_at} />
          </>
        )}
      </p>
      <p class="who-links">
        <button type="button" class="button button-small" onClick={() => void leave()}>
          Sign out
        </button>
        <a href={`${prefix}/docs`} target="_blank" rel="noreferrer">
          API
        </a>
        {current.version === null ? null : <span class="muted">v{current.version}</span>}
      </p>
    </div>
  )
}

/** What has been loaded, and for which view. */
interface Loaded {
  readonly view: View
  readonly component: ComponentType<ViewProps> | null
  readonly failure: unknown
}

const Current = () => {
  const found = place.value
  const view = found?.view ?? null
  const [loaded, setLoaded] = useState<Loaded | null>(null)
  const [round, setRound] = useState(0)
  useEffect(() => {
    if (view === null) return
    let isGone = false
    const keep = (next: Omit<Loaded, "view">) => {
      if (!isGone) setLoaded({ view, ...next })
    }
    view.load().then(
      (module) => keep({ component: module.default, failure: null }),
      (failure: unknown) => keep({ component: null, failure }),
    )
    return () => {
      isGone = true
    }
  }, [view, round])
  const isLoaded = loaded !== null && loaded.view === view
  useHeading(view, isLoaded)
  if (view === null) return <NotFound />
  if (!isLoaded) return <Waiting words="Loading the view …" />
  if (loaded.component === null) {
    return (
      <Failed
        what="This part of the console could not be loaded"
        failure={asFailure(loaded.failure)}
        retry={() => setRound(round + 1)}
      />
    )
  }
  const Component = loaded.component
  return (
    <Boundary key={path.value}>
      <Component names={found?.names ?? {}} />
    </Boundary>
  )
}

/** The title of the page, and the focus on the heading of a view that was opened from another one. */
const useHeading = (view: View | null, isLoaded: boolean) => {
  const last = useRef<string | null>(null)
  const at = path.value
  useEffect(() => {
    document.title = `${view?.title ?? "Nothing here"} · Headgate`
    if (!isLoaded) return
    if (last.current !== null && last.current !== at) {
      document.querySelector<HTMLElement>("main h1")?.focus({ preventScroll: true })
      scrollTo(0, 0)
    }
    last.current = at
  }, [view, isLoaded, at])
}

const NotFound = () => (
  <Page title="Nothing here">
    <Empty title="No view has this address, or none for the key that is signed in.">
      <a href={href("/")}>To the first view</a>
    </Empty>
  </Page>
)
