/** Parts of a page. */
import type { ComponentChildren } from "preact"

interface PageProps {
  readonly title: string
  /** One sentence on what is here. */
  readonly intro?: ComponentChildren
  /** Right of the title: range, buttons. */
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
}

/** A view: the shell puts the focus on its heading when it is opened. */
export const Page = ({ title, intro, actions, children }: PageProps) => (
  <>
    <header class="page-head">
      <div>
        <h1 tabIndex={-1}>{title}</h1>
        {intro === undefined ? null : <p class="muted">{intro}</p>}
      </div>
      {actions === undefined ? null : <div class="page-actions">{actions}</div>}
    </header>
    {children}
  </>
)

interface PanelProps {
  readonly title: ComponentChildren
  readonly note?: ComponentChildren
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
}

export const Panel = ({ title, note, actions, children }: PanelProps) => (
  <section class="panel">
    <header class="panel-head">
      <div>
        <h2>{title}</h2>
        {note === undefined ? null : <p class="muted small">{note}</p>}
      </div>
      {actions === undefined ? null : <div class="panel-actions">{actions}</div>}
    </header>
    {children}
  </section>
)

interface TileProps {
  readonly label: string
  /** The number, with its unit. */
  readonly value: ComponentChildren
  /** The rows that the number is made of. */
  readonly href?: string | undefined
  /** Beside the number: what it was before. */
  readonly note?: ComponentChildren
}

/** A number that leads to its rows. */
export const Tile = ({ label, value, href, note }: TileProps) => (
  <div class="tile">
    <div class="tile-label">{label}</div>
    <div class="tile-value">
      {href === undefined ? (
        value
      ) : (
        <a href={href}>
          {value}
          <span class="only-read">, the rows of {label}</span>
        </a>
      )}
    </div>
    <div class="tile-note muted small">{note}</div>
  </div>
)

export const Tiles = ({ children }: { readonly children: ComponentChildren }) => <div class="tiles">{children}</div>

interface TabsProps<Name extends string> {
  readonly label: string
  readonly tabs: ReadonlyArray<{ readonly name: Name; readonly title: string; readonly href: string }>
  readonly chosen: Name
}

/** Parts of a view as links: which one is chosen stands in the address. */
export const Tabs = <Name extends string>({ label, tabs, chosen }: TabsProps<Name>) => (
  <nav class="tabs" aria-label={label}>
    {tabs.map(({ name, title, href }) => (
      <a key={name} href={href} aria-current={name === chosen ? "page" : undefined}>
        {title}
      </a>
    ))}
  </nav>
)
