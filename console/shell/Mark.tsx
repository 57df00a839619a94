/** The mark: two posts and a gate between them. Beside a name, so it needs none itself. */
export const Mark = () => (
  <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
    <rect width="32" height="32" rx="7" />
    <path d="M7 8v16M25 8v16M7 16h18M12 11v10M20 11v10" />
  </svg>
)
