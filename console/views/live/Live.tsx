/** Requests in flight, in all processes on the database; one can be stopped. */
import { useState } from "preact/hooks"
import { asFailure } from "../../api/ApiFailure.ts"
import { call } from "../../api/call.ts"
import type { LiveRequest, LiveRequests } from "../../api/types.ts"
import { Confirm } from "../../components/Dialog.tsx"
import { Page } from "../../components/layout.tsx"
import { Empty, Shown } from "../../components/Shown.tsx"
import { type Column, Table } from "../../components/Table.tsx"
import { Badge, None } from "../../components/values.tsx"
import { counted, duration } from "../../lib/numbers.ts"
import { announce, notify } from "../../state/notices.ts"
import { useQuery } from "../../state/query.ts"
import { may, session } from "../../state/session.ts"

const stateWords = {
  receiving: "reads the request",
  waiting: "waits for the host",
  streaming: "streams",
} as const

const stateTones = { receiving: "plain", waiting: "warning", streaming: "good" } as const

const columns: ReadonlyArray<Column<LiveRequest>> = [
  {
    name: "age",
    title: "Age",
    width: 4.5,
    isNumber: true,
    value: (row) => row.age_ms,
    cell: (row) => <span class="number">{duration(row.age_ms)}</span>,
  },
  {
    name: "state",
    title: "State",
    width: 9,
    value: (row) => stateWords[row.state],
    cell: (row) => <Badge tone={stateTones[row.state]}>{stateWords[row.state]}</Badge>,
  },
  {
    name: "model",
    title: "Model",
    width: 12.5,
    value: (row) => row.model,
    cell: (row) => row.model ?? <None words="not known yet" />,
  },
  {
    name: "host",
    title: "Host",
    width: 6.5,
    value: (row) => row.host,
    cell: (row) => row.host ?? <None words="not chosen yet" />,
  },
  { name: "key", title: "Key", width: 7.5, value: (row) => row.key_name ?? row.key_hash },
  {
    name: "route",
    title: "Route",
    width: 11.75,
    value: (row) => row.route,
    cell: (row) => row.route.replace("/api/v1/", "/"),
  },
  { name: "process", title: "Process", width: 6.75, value: (row) => row.process },
]

const stopColumn = (choose: (row: LiveRequest) => void): Column<LiveRequest> => ({
  name: "stop",
  title: "Stop",
  width: 4.25,
  value: () => null,
  cell: (row) => (
    <button type="button" class="button button-small" onClick={() => choose(row)}>
      Stop
      <span class="only-read"> the request of {row.key_name ?? "a key"}</span>
    </button>
  ),
})

const Live = () => {
  const live = useQuery("live", (signal) => call<LiveRequests>("/requests/live", { signal }), { every: 1000 })
  const [chosen, setChosen] = useState<LiveRequest | null>(null)
  const [isStopping, setStopping] = useState(false)
  const canStop = may("all")
  const stop = async (row: LiveRequest) => {
    setStopping(true)
    try {
      await call(`/requests/live/${encodeURIComponent(row.request_id)}`, { method: "DELETE" })
      announce("The request was stopped.")
      notify("done", "The request was stopped.")
    } catch (cause) {
      const failure = asFailure(cause)
      if (failure.status === 404) notify("done", "The request had ended by itself.")
      else notify("failed", `The request was not stopped: ${failure.message} ${failure.toDo}`)
    } finally {
      setStopping(false)
      setChosen(null)
      live.reload()
    }
  }
  const shown = canStop ? columns.toSpliced(2, 0, stopColumn(setChosen)) : columns
  return (
    <Page
      title="Live"
      intro={
        session.value?.kind === "management"
          ? "Requests in flight now, in all processes of this gateway, looked at each second."
          : "Requests of your key in flight now, looked at each second."
      }
    >
      <Shown of={live} what="the requests in flight">
        {({ data, complete }) => (
          <>
            {complete ? null : (
              <p class="small">
                <Badge tone="warning">not all</Badge> One of the processes did not answer within a second: its requests
                are missing here.
              </p>
            )}
            {data.length === 0 ? (
              <Empty title="No request is in flight.">
                Each one is here from its first byte until its answer ends.
              </Empty>
            ) : (
              <Table
                label="Requests in flight"
                columns={shown}
                rows={data}
                keyOf={(row) => row.request_id}
                sortParameter="sort"
                foot={`${counted(data.length, "request")} in flight`}
              />
            )}
          </>
        )}
      </Shown>
      {chosen === null ? null : (
        <Confirm
          title="Stop this request?"
          action={isStopping ? "Stopping …" : "Stop the request"}
          isRunning={isStopping}
          confirm={() => void stop(chosen)}
          close={() => setChosen(null)}
        >
          It has run for {duration(chosen.age_ms)}
          {chosen.model === null ? "" : `, for ${chosen.model}`}
          {chosen.key_name === null ? "" : `, by the key “${chosen.key_name}”`}. Its caller gets an error after what it
          has already. The key is charged for the prompt and the output until now.
        </Confirm>
      )}
    </Page>
  )
}

export default Live
