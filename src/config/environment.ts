/** Which variables of the environment are settings of the gateway, and which only look like some. */
import { hint } from "../domain/json/Problem.ts"
import { withoutInline } from "./withoutInline.ts"

const prefix = "HEADGATE_"

/** The variables that are read, without their prefix. `WORKER` is set by the supervisor for its workers. */
const settings = [
  "CONFIG",
  "PORT",
  "HOSTNAME",
  "STORAGE",
  "MANAGEMENT_KEY",
  "METRICS_TOKEN",
  "LOG_LEVEL",
  "LOG_FORMAT",
  "WORKER",
]

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
    .filter((name) => !settings.includes(name))
  const [link, ...more] = links.toSorted()
  return [
    ...unknown.map((name) => {
      const near = hint(name, settings.slice(0, -1)).replace('"', `"${prefix}`)
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

const known = settings
  .slice(0, -1)
  .map((name) => prefix + name)
  .join(", ")
