/** One model in the playground: its answer as it comes, with cost and speed. */
import { TextField } from "../../components/fields.tsx"
import { Badge, None } from "../../components/values.tsx"
import { count, duration } from "../../lib/numbers.ts"
import type { Run } from "./stream.ts"

interface Props {
  readonly model: string
  readonly run: Run
  /** Of the list of models, for the browser's own suggestions. */
  readonly listId: string
  readonly setModel: (model: string) => void
  readonly remove: (() => void) | null
}

/** Output tokens in the time after the first one. */
const speedOf = ({ answer, firstMs, totalMs }: Run): string | null =>
  answer.tokensOut === null || firstMs === null || totalMs === null || totalMs <= firstMs
    ? null
    : `${count(Math.round((answer.tokensOut / (totalMs - firstMs)) * 1000))} tokens/s`

/** Tokens and dollars of one answer: the amount is the number of the last chunk, which the ledger has exactly. */
const dollars = (cost: number): string => `$${cost.toFixed(12).replace(/(\.\d*?[1-9])0+$|\.0+$/, "$1")}`

export const Column = ({ model, run, listId, setModel, remove }: Props) => (
  <section class="panel play-column" aria-label={model === "" ? "A model" : model}>
    <div class="play-model">
      <TextField
        label="Model"
        value={model}
        change={setModel}
        input={{ list: listId, placeholder: "author/slug", spellcheck: false, autocapitalize: "off" }}
      />
      {remove === null ? null : (
        <button type="button" class="button button-small" onClick={remove}>
          Remove<span class="only-read"> {model}</span>
        </button>
      )}
    </div>
    <Figures run={run} />
    <div class="play-answer" aria-live="polite" aria-busy={run.isRunning}>
      {run.answer.reasoning === "" ? null : (
        <details open={run.answer.text === ""}>
          <summary>Reasoning</summary>
          <p class="play-text muted">{run.answer.reasoning}</p>
        </details>
      )}
      {run.answer.text === "" ? null : <p class="play-text">{run.answer.text}</p>}
      {run.answer.calls.map(({ name, arguments: text }, at) => (
        <pre key={`${at} ${name}`} class="play-call">
          {name}({text})
        </pre>
      ))}
      {run.answer.error === null ? null : (
        <p role="alert">
          <Badge tone="bad">broke off</Badge> {run.answer.error}
        </p>
      )}
      {run.failure === null ? null : (
        <p role="alert">
          <Badge tone="bad">no answer</Badge> {run.failure}
        </p>
      )}
    </div>
  </section>
)

const Figures = ({ run }: { readonly run: Run }) => {
  const { answer, firstMs, totalMs, isRunning } = run
  const speed = speedOf(run)
  return (
    <dl class="play-figures small">
      <div>
        <dt>Cost</dt>
        <dd class="number">{answer.cost === null ? <None words="not known yet" /> : dollars(answer.cost)}</dd>
      </div>
      <div>
        <dt>First token</dt>
        <dd class="number">{firstMs === null ? <None words="not yet" /> : duration(firstMs)}</dd>
      </div>
      <div>
        <dt>Took</dt>
        <dd class="number">
          {totalMs === null ? isRunning ? "runs …" : <None words="not run" /> : duration(totalMs)}
          {speed === null ? "" : `, ${speed}`}
        </dd>
      </div>
      <div>
        <dt>Tokens</dt>
        <dd class="number">
          {answer.tokensIn === null ? (
            <None words="not known yet" />
          ) : (
            `${count(answer.tokensIn)} in, ${count(answer.tokensOut ?? 0)} out`
          )}
        </dd>
      </div>
      <div>
        <dt>Host</dt>
        <dd>{answer.provider ?? <None words="not known yet" />}</dd>
      </div>
    </dl>
  )
}
