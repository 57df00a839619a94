/** The times of one request, as bars on one line of time and as words. */
import { duration } from "../../lib/numbers.ts"
import { placed, type WaterfallSpan } from "../../lib/waterfall.ts"

const kindWords = { gateway: "the gateway", host: "a host", failed: "a host that failed" } as const

export const Waterfall = (props: { readonly spans: ReadonlyArray<WaterfallSpan>; readonly total: number }) => (
  <ol class="waterfall" aria-label={`Times of the request, ${duration(props.total)} in all`}>
    {props.spans.map((span, at) => {
      const { left, width } = placed(span, props.total)
      return (
        <li key={`${at} ${span.title}`}>
          <span class="waterfall-title" title={span.title}>
            {span.title}
          </span>
          <span class="waterfall-line" aria-hidden="true">
            <span class={`waterfall-bar is-${span.kind}`} style={{ left: `${left}%`, width: `${width}%` }} />
          </span>
          <span class="waterfall-time number">
            {duration(span.to - span.from)}
            <span class="only-read">
              {" "}
              of {kindWords[span.kind]}, from {duration(span.from)} on
            </span>
          </span>
        </li>
      )
    })}
  </ol>
)
