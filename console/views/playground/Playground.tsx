/** Models side by side: the same request, streamed, with cost and speed. What is typed stays while the console is open. */
import { signal } from "@preact/signals"
import { useEffect, useId, useState } from "preact/hooks"
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
import { isManagement, may, session } from "../../state/session.ts"
import { Column } from "./Column.tsx"
import { dropPlayKey, makePlayKey, playKey, playLimit } from "./key.ts"
import { PlayFields } from "./PlayFields.tsx"
import { useRuns } from "./runs.ts"
import { idle } from "./stream.ts"

const most = 4

/** Kept while another view is shown, for the key that is signed in. */
const form = signal(emptyPlay)
const typedWith = signal<string | null>(null)

/** `null`: nobody has chosen yet, and the one that the address names is taken, or the first one that is served. */
const models = signal<ReadonlyArray<string> | null>(null)

const choose = (next: ReadonlyArray<string>): void => {
  models.value = next
}

const Playground = () => {
  const asked = parameters.value.get("model")
  const runs = useRuns()
  const [errors, setErrors] = useState<PlayErrors>({})
  const list = useId()
  const known = useQuery("models", (stop) => data<ReadonlyArray<Model>>("/models", { signal: stop }))
  const first = known.answer?.[0]?.id ?? ""
  const who = session.value?.hash ?? null
  if (typedWith.value !== who) {
    typedWith.value = who
    form.value = emptyPlay
    models.value = null
  }
  const offered = asked ?? first
  const chosen = models.value ?? (offered === "" ? [] : [offered])
  useEffect(() => {
    addEventListener("pagehide", dropPlayKey)
    return () => {
      removeEventListener("pagehide", dropPlayKey)
      dropPlayKey()
    }
  }, [])

  const start = async (event: Event) => {
    event.preventDefault()
    const found = errorsOf(form.value)
    setErrors(found)
    if (Object.keys(found).length > 0) return
    try {
      const secret = playKey.value?.secret ?? (await makePlayKey())
      await runs.start(
        secret,
        chosen.map((model) => bodyOf(form.value, model)),
      )
    } catch (cause) {
      const failure = asFailure(cause)
      notify("failed", `No key could be made for the playground: ${failure.message} ${failure.toDo}`)
    }
  }
  const needsKey = !may("keys")
  const mayRun = !needsKey || (playKey.value?.secret ?? "") !== ""
  if (isManagement.value && needsKey) return <NoKey />
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
        {needsKey ? <KeyField /> : null}
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
          {/* By their keys two elements: one that became the other within its click would send the form at once. */}
          {runs.isRunning ? (
            <button key="stop" type="button" class="button button-bad" onClick={runs.stop}>
              Stop
            </button>
          ) : (
            <button
              key="send"
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
            run={runs.all[at] ?? idle}
            listId={list}
            setModel={(next) => choose(chosen.with(at, next))}
            remove={
              chosen.length === 1
                ? null
                : () => {
                    choose(chosen.toSpliced(at, 1))
                    runs.remove(at)
                  }
            }
          />
        ))}
      </div>
      <Copy model={chosen[0] ?? ""} />
    </Page>
  )
}

/** For whoever may make no key. */
const KeyField = () => (
  <TextField
    label="Your key"
    value={playKey.value?.secret ?? ""}
    change={(secret) => {
      playKey.value = secret === "" ? null : { secret, hash: null }
    }}
    input={{ type: "password", autocomplete: "off", placeholder: "sk-gw-…" }}
  />
)

const NoKey = () => (
  <Page title="Playground">
    <Empty title="The key that is signed in may not make keys.">
      The playground calls models with a short-lived key of its own. Sign in with a management key whose role is “keys”
      or “all”, or with an ordinary key.
    </Empty>
  </Page>
)

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
