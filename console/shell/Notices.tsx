import { announcement, dismiss, notices } from "../state/notices.ts"

/** Messages at the edge of the page. Failures are read at once, the rest when the reader is done with what it reads. */
export const Notices = () => (
  <>
    <div class="notices" role="log" aria-live="polite" aria-label="Messages">
      {notices.value.map(({ id, kind, text }) => (
        <div key={id} class={`notice notice-${kind}`} role={kind === "failed" ? "alert" : undefined}>
          <span>{text}</span>
          <button type="button" class="button button-small" onClick={() => dismiss(id)}>
            Close
          </button>
        </div>
      ))}
    </div>
    <div class="only-read" role="status">
      {announcement.value}
    </div>
  </>
)
