/** What to do with a gateway that was just installed: a provider's key, a key of its own, a client. */
import type { ComponentChildren } from "preact"
import { data } from "../../api/call.ts"
import type { ProviderState } from "../../api/types.ts"
import { Panel } from "../../components/layout.tsx"
import { Shown } from "../../components/Shown.tsx"
import { Badge, CodeBlock } from "../../components/values.tsx"
import { counted } from "../../lib/numbers.ts"
import { publicApi } from "../../state/publicApi.ts"
import { useQuery } from "../../state/query.ts"
import { href } from "../../state/router.ts"

interface Found {
  readonly providers: ReadonlyArray<ProviderState>
  readonly keys: number
  /** An id to try; `null` where there is none. */
  readonly model: string | null
}

const everyMs = 5000

const look = async (signal: AbortSignal): Promise<Found> => {
  const [providers, keys, models] = await Promise.all([
    data<ReadonlyArray<ProviderState>>("/providers/state", { signal }),
    data<ReadonlyArray<unknown>>("/keys", { signal }),
    data<ReadonlyArray<{ readonly id: string }>>("/models", { query: { limit: 1 }, signal }),
  ])
  return { providers, keys: keys.length, model: models[0]?.id ?? null }
}

export const FirstSteps = () => {
  const found = useQuery("first steps", look, { every: everyMs })
  return (
    <Panel title="Three steps to the first request" note="This page looks every five seconds whether one is done.">
      <Shown of={found} what="what there is already">
        {(now) => <Steps found={now} />}
      </Shown>
    </Panel>
  )
}

const Steps = ({ found }: { readonly found: Found }) => {
  const on = found.providers.filter(({ state, models }) => state === "on" && models > 0)
  const off = found.providers.find(({ variable }) => variable !== null)
  const variable = off?.variable ?? "OPENAI_API_KEY"
  return (
    <ol class="steps">
      <Step
        at={1}
        title="Give the gateway a provider's key"
        isDone={on.length > 0}
        done={`${counted(on.length, "provider")} on: ${on
          .slice(0, 5)
          .map(({ name }) => name)
          .join(", ")}.`}
      >
        <p>
          Set the variable of a vendor where the gateway runs, and start it again.{" "}
          <a href={href("/providers")}>All providers with their variables</a>
        </p>
        <CodeBlock what="the line that sets the variable" text={`export ${variable}=…\nheadgate serve`} />
      </Step>
      <Step
        at={2}
        title="Make a key for whoever calls"
        isDone={found.keys > 0}
        done={`${counted(found.keys, "key")} ${found.keys === 1 ? "is" : "are"} there.`}
      >
        <p>
          <a href={href("/keys/new")}>Make one here</a>, or by the command. A key is shown once; a limit bounds what it
          may spend.
        </p>
        <CodeBlock what="the command that makes a key" text={`headgate keys create "my first app" --limit 5`} />
      </Step>
      <Step at={3} title="Point a client at it" isDone={false} done="">
        <p>Any client that speaks the OpenAI or the Anthropic API: it needs this address and the key.</p>
        <CodeBlock
          what="a first request"
          text={[
            `curl ${publicApi()}/chat/completions \\`,
            `  -H "Authorization: Bearer $HEADGATE_KEY" \\`,
            `  -H "Content-Type: application/json" \\`,
            `  -d '{"model": "${(found.model ?? "openai/gpt-5-mini").replace(/['"\\]/g, "")}", "messages": [{"role": "user", "content": "Hello"}]}'`,
          ].join("\n")}
        />
        <CodeBlock
          what="the variables of an OpenAI client"
          text={`OPENAI_BASE_URL=${publicApi()}\nOPENAI_API_KEY=sk-…`}
        />
      </Step>
    </ol>
  )
}

interface StepProps {
  readonly at: number
  readonly title: string
  readonly isDone: boolean
  readonly done: string
  readonly children: ComponentChildren
}

const Step = ({ at, title, isDone, done, children }: StepProps) => (
  <li class={isDone ? "is-done" : undefined}>
    <div class="step-mark" aria-hidden="true">
      {isDone ? "✓" : at}
    </div>
    <div>
      <h3>
        {title} {isDone ? <Badge tone="good">done</Badge> : null}
      </h3>
      {isDone ? <p class="muted">{done}</p> : children}
    </div>
  </li>
)
