import { Component, type ComponentChildren } from "preact"

interface Props {
  readonly children: ComponentChildren
}

interface State {
  readonly fault: Error | null
}

/** Keeps a fault of one view from taking the navigation with it, and says that there is one. */
export class Boundary extends Component<Props, State> {
  override state: State = { fault: null }

  static override getDerivedStateFromError(fault: Error): State {
    return { fault }
  }

  override render() {
    const { fault } = this.state
    if (fault === null) return this.props.children
    return (
      <div class="failed" role="alert">
        <h1 tabIndex={-1}>This view has a fault</h1>
        <p>{fault.message}</p>
        <p class="muted">
          Load the page again. If the fault stays, the version of the console and that of the gateway may differ: build
          both anew, or report it.
        </p>
        <button type="button" class="button" onClick={() => location.reload()}>
          Load the page again
        </button>
      </div>
    )
  }
}
