/** The mark: two posts and a gate between them. Beside a name, so it needs none itself. */
export const Mark = () => (
  <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
    <path d="M4 4h4v24H4zM24 4h4v24h-4zM10 6h3v9h-3zM14.5 6h3v9h-3zM19 6h3v9h-3zM10 19h12v3H10z" />
  </svg>
)
