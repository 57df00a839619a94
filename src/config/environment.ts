/** Which variables of the environment are settings of the gateway, and which only look like some. */
import { hint } from "../domain/json/Problem.ts"
import { withoutInline } from "./withoutInline.ts"

const prefix = "HEADGATE_"

/** What the variables set that are read, by their names without the prefix. docs/reference/configuration.md#variables */
const settings = {
  CONFIG: "The configuration file, as `--config`. Default: as found here.",
  PORT: "`server.port`, as `--port`.",
  HOSTNAME: "`server.hostname`, as `--hostname`.",
  STORAGE: "`storage`, as `--storage`.",
  MANAGEMENT_KEY: "The management key of the gateway, and of commands that call one. Default: made at the first start.",
  METRICS_TOKEN: "A token that may read `/metrics`. Default: a management key is needed.",
  LOG_LEVEL: "The least that is logged, as `--log-level`: `debug`, `info`, `warn`, `error` or `none`. Default: `info`.",
  LOG_FORMAT: "`pretty`, `logfmt` or `json`. Default: by where it runs.",
}

/** The same by their whole names. */
export const variables: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(settings).map(([name, about]) => [prefix + name, about]),
)

const names = Object.keys(settings)

/** `HEADGATE_WORKER` is set by the supervisor for its workers, and the pages' examples have the key of a client in `HEADGATE_API_KEY`. */
const isKnown = (name: string): boolean => name === "WORKER" || name === "API_KEY" || names.includes(name)

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Whether Kubernetes has set this variable: it describes each service of a namespace to every pod there, a service named
 * `headgate` by `HEADGATE_PORT=tcp://10.0.0.1:8787`, which would be taken for our port.
 * https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables
 */
export const isServiceLink = (name: string, value: string): boolean =>
  /_SERVICE_(HOST|PORT|PORT_[A-Z0-9_]+)$/.test(name) ||
  /_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/.test(name) ||
  (name.endsWith("_PORT") && /^(tcp|udp|sctp):\/\//.test(value))

/**
 * A sentence for each variable with the gateway's prefix that it does not know, and one for all those of Kubernetes.
 * `configuration`: as it was written; a variable that it names is the operator's own.
 */
export const environmentWarnings = (environment: Environment, configuration: unknown): ReadonlyArray<string> => {
  const found = Object.entries(environment).flatMap(
    ([name, value]): ReadonlyArray<readonly [string, string]> =>
      name.startsWith(prefix) && value !== undefined ? [[name, value]] : [],
  )
  const links = found.filter(([name, value]) => isServiceLink(name, value)).map(([name]) => name)
  const written = withoutInline(configuration)
  const unknown = found
    .map(([name]) => name)
    .filter((name) => !links.includes(name) && !mentions(written, name))
    .map((name) => name.slice(prefix.length))
    .filter((name) => !isKnown(name))
  const [link, ...more] = links.toSorted()
  return [
    ...unknown.map((name) => {
      const near = hint(name, names).replace('"', `"${prefix}`)
      return `${prefix}${name} is set and not known${near === "" ? `; known are ${known}` : near}`
    }),
    ...(link === undefined
      ? []
      : [
          `${link}${more.length === 0 ? " was" : ` and ${more.length} more were`} set by Kubernetes for a service of that name, ` +
            "and not taken for settings; enableServiceLinks: false in the pod's specification leaves them out.",
        ]),
  ]
}

/** Whether the name stands in one of the texts. */
const mentions = (value: unknown, name: string): boolean => {
  if (typeof value === "string") return value.includes(name)
  return typeof value === "object" && value !== null && Object.values(value).some((part) => mentions(part, name))
}

const known = Object.keys(variables).join(", ")
