/** Models side by side: the same request, streamed, with cost and speed. What is typed stays while the console is open. */
import { signal } from "@preact/signals"
import { useEffect, useId, useRef, useState } from "preact/hooks"
import { asFailure } from "../../api/ApiFailure.ts"
import { data } from "../../api/call.ts"
import type { Model } from "../../api/modelTypes.ts"
import { TextField } from "../../components/fields.tsx"
import { Page, Panel, Tabs } from "../../components/layout.tsx"
import { Empty } from "../../components/Shown.tsx"
import { CodeBlock } from "../../components/values.tsx"
import { bodyOf, emptyPlay, errorsOf, type Language, languages, type PlayErrors, snippet } from "../../lib/playForm.ts"
import { notify } from "../../state/notices.ts"
import { publicApi } from "../../state/publicApi.ts"
import { useQuery } from "../../state/query.ts"
import { hrefWith, parameters } from "../../state/router.ts"
import { isManagement, may } from "../../state/session.ts"
import { Column } from "./Column.tsx"
import { dropPlayKey, makePlayKey, playKey, playLimit } from "./key.ts"
import { PlayFields } from "./PlayFields.tsx"
import { idle, type Run, run } from "./stream.ts"

const most = 4

/** Kept while another view is shown. */
const form = signal(emptyPlay)

/** `null`: nobody has chosen yet, and the one that the address names is taken, or the first one that is served. */
const models = signal<ReadonlyArray<string> | null>(null)

const choose = (next: ReadonlyArray<string>): void => {
  models.value = next
}

const Playground = () => {
  const asked = parameters.value.get("model")
  const [runs, setRuns] = useState<ReadonlyArray<Run>>([])
  const [errors, setErrors] = useState<PlayErrors>({})
  const abort = useRef<AbortController | null>(null)
  const list = useId()
  const known = useQuery("models", (stop) => data<ReadonlyArray<Model>>("/models", { signal: stop }))
  const first = known.answer?.[0]?.id ?? ""
  const offered = asked ?? first
  const chosen = models.value ?? (offered === "" ? [] : [offered])
  const isRunning = runs.some((one) => one.isRunning)
  useEffect(() => () => abort.current?.abort(), [])
  useEffect(() => dropPlayKey, [])

  const start = async (event: Event) => {
    event.preventDefault()
    const found = errorsOf(form.value)
    setErrors(found)
    if (Object.keys(found).length > 0) return
    abort.current?.abort()
    const stop = new AbortController()
    abort.current = stop
    try {
      const secret = playKey.value?.secret ?? (await makePlayKey())
      setRuns(chosen.map(() => ({ ...idle, isRunning: true })))
      await Promise.all(
        chosen.map((model, at) =>
          run(secret, bodyOf(form.value, model), stop.signal, (next) =>
            setRuns((last) => last.map((one, place) => (place === at ? next : one))),
          ),
        ),
      )
    } catch (cause) {
      const failure = asFailure(cause)
      notify("failed", `No key could be made for the playground: ${failure.message} ${failure.toDo}`)
    }
  }
  const needsKey = !may("keys")
  const mayRun = !needsKey || (playKey.value?.secret ?? "") !== ""
  if (isManagement.value && needsKey) {
    return (
      <Page title="Playground">
        <Empty title="The key that is signed in may not make keys.">
          The playground calls models with a short-lived key of its own. Sign in with a management key whose role is
          “keys” or “all”, or with an ordinary key.
        </Empty>
      </Page>
    )
  }
  return (
    <Page
      title="Playground"
      intro={
        needsKey
          ? "Paste your key: it is kept in this page alone, and what it calls is charged to it."
          : `It calls models with a key of its own: $${playLimit} at most, for an hour, deleted when you leave.`
      }
    >
      <form class="panel" onSubmit={(event) => void start(event)} noValidate>
        {needsKey ? (
          <TextField
            label="Your key"
            value={playKey.value?.secret ?? ""}
            change={(secret) => {
              playKey.value = secret === "" ? null : { secret, hash: null }
            }}
            input={{ type: "password", autocomplete: "off", placeholder: "sk-gw-…" }}
          />
        ) : null}
        <PlayFields
          form={form.value}
          errors={errors}
          change={(changes) => {
            form.value = { ...form.value, ...changes }
          }}
        />
        <div class="form-actions">
          {chosen.length >= most ? null : (
            <button type="button" class="button" onClick={() => choose([...chosen, first])}>
              Another model beside it
            </button>
          )}
          {isRunning ? (
            <button type="button" class="button button-bad" onClick={() => abort.current?.abort()}>
              Stop
            </button>
          ) : (
            <button
              type="submit"
              class="button button-main"
              disabled={!mayRun || chosen.some((one) => one.trim() === "")}
            >
              Send
            </button>
          )}
        </div>
      </form>
      <datalist id={list}>
        {(known.answer ?? []).map(({ id }) => (
          <option key={id} value={id} />
        ))}
      </datalist>
      <div class="play-columns">
        {chosen.map((model, at) => (
          <Column
            key={String(at)}
            model={model}
            run={runs[at] ?? idle}
            listId={list}
            setModel={(next) => choose(chosen.with(at, next))}
            remove={
              chosen.length === 1
                ? null
                : () => {
                    choose(chosen.toSpliced(at, 1))
                    setRuns((last) => last.toSpliced(at, 1))
                  }
            }
          />
        ))}
      </div>
      <Copy model={chosen[0] ?? ""} />
    </Page>
  )
}

const Copy = ({ model }: { readonly model: string }) => {
  const asked = parameters.value.get("lines")
  const language: Language = languages.find((one) => one === asked) ?? "curl"
  return (
    <Panel title="The same from elsewhere">
      <Tabs
        label="Language"
        chosen={language}
        tabs={languages.map((name) => ({
          name,
          title: name,
          href: hrefWith({ lines: name === "curl" ? null : name }),
        }))}
      />
      <CodeBlock what={`the lines in ${language}`} text={snippet(language, publicApi(), bodyOf(form.value, model))} />
    </Panel>
  )
}

export default Playground
