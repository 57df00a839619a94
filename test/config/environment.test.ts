import { expect, test } from "bun:test"
import { environmentWarnings, isServiceLink } from "../../src/config/environment.ts"

/** What Kubernetes sets for a service `headgate` with a named port, and for one that is called `headgate-db`. */
const links = {
  HEADGATE_SERVICE_HOST: "10.0.0.1",
  HEADGATE_SERVICE_PORT: "8787",
  HEADGATE_SERVICE_PORT_HTTP: "8787",
  HEADGATE_PORT: "tcp://10.0.0.1:8787",
  HEADGATE_PORT_8787_TCP: "tcp://10.0.0.1:8787",
  HEADGATE_PORT_8787_TCP_PROTO: "tcp",
  HEADGATE_PORT_8787_TCP_PORT: "8787",
  HEADGATE_PORT_8787_TCP_ADDR: "10.0.0.1",
  HEADGATE_DB_SERVICE_HOST: "10.0.0.2",
  HEADGATE_DB_PORT: "tcp://10.0.0.2:5432",
}

test("variables of a Kubernetes service are no settings", () => {
  expect(Object.entries(links).filter(([name, value]) => !isServiceLink(name, value))).toEqual([])
  expect(isServiceLink("HEADGATE_PORT", "8787")).toBe(false)
  expect(isServiceLink("HEADGATE_STORAGE", "postgres://u@h/d")).toBe(false)
})

test("they are named in one line", () => {
  expect(environmentWarnings(links, {})).toEqual([
    "HEADGATE_DB_PORT and 9 more were set by Kubernetes for a service of that name, and not taken for settings; " +
      "enableServiceLinks: false in the pod's specification leaves them out.",
  ])
})

test("an unknown variable is named with the near name, or with all names", () => {
  const env = {
    PATH: "/bin",
    HEADGATE_PROT: "1",
    HEADGATE_MANAGMENT_KEY: "sk-secret",
    HEADGATE_X: "",
    HEADGATE_WORKER: "1",
    HEADGATE_API_KEY: "sk-gw-of-a-client",
  }
  expect(environmentWarnings(env, {})).toEqual([
    'HEADGATE_PROT is set and not known, did you mean "HEADGATE_PORT"?',
    'HEADGATE_MANAGMENT_KEY is set and not known, did you mean "HEADGATE_MANAGEMENT_KEY"?',
    "HEADGATE_X is set and not known; known are HEADGATE_CONFIG, HEADGATE_PORT, HEADGATE_HOSTNAME, HEADGATE_STORAGE, HEADGATE_MANAGEMENT_KEY, HEADGATE_METRICS_TOKEN, HEADGATE_LOG_LEVEL, HEADGATE_LOG_FORMAT",
  ])
})

test("a variable that the configuration names is the operator's own", () => {
  const configuration = { providers: { openai: { api_key: { env: "HEADGATE_OPENAI_KEY" } } } }
  expect(environmentWarnings({ HEADGATE_OPENAI_KEY: "sk-1" }, configuration)).toEqual([])
})
