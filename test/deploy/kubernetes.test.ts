/** deploy/kubernetes: held against the code and read by kubectl; there is no cluster here. docs/deployment.md#kubernetes */
import { describe, expect, test } from "bun:test"
import { isJsonObject } from "../../src/domain/json/json.ts"
import { said } from "./dockerfile.ts"
import { configOf, image, longestBodiesMiB, textOf, unknownVariables, version } from "./facts.ts"

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string }
}

interface Named {
  readonly name: string
}

interface Container extends Named {
  readonly image: string
  readonly ports: ReadonlyArray<Named & { readonly containerPort: number }>
  readonly env?: ReadonlyArray<Named & { readonly value: string }>
  readonly startupProbe: Probe
  readonly livenessProbe: Probe
  readonly readinessProbe: Probe
  readonly securityContext: unknown
  readonly resources: { readonly limits: { readonly memory: string } }
  readonly volumeMounts: ReadonlyArray<Named & { readonly mountPath: string; readonly subPath?: string }>
}

interface Manifest {
  readonly kind: string
  readonly metadata: Named
  readonly data?: Readonly<Record<string, string>>
  readonly spec?: {
    readonly replicas: number
    readonly serviceName: string
    readonly selector: { readonly matchLabels: unknown }
    readonly ports: ReadonlyArray<{ readonly port: number; readonly targetPort: string }>
    readonly volumeClaimTemplates: ReadonlyArray<{ readonly metadata: Named }>
    readonly template: {
      readonly metadata: { readonly labels: unknown }
      readonly spec: {
        readonly enableServiceLinks: boolean
        readonly terminationGracePeriodSeconds: number
        readonly securityContext: Readonly<Record<string, unknown>>
        readonly containers: ReadonlyArray<Container>
        readonly volumes: ReadonlyArray<Named>
      }
    }
  }
}

const kubectl = Bun.which("kubectl")
if (kubectl === null) console.warn("deploy/kubernetes is not read by kubectl: there is none")

/** What `kubectl` keeps of an object with a pod's template: it drops members that do not exist. */
const known = (object: unknown): unknown => {
  const words = ["set", "env", "--local", "--filename=-", "--dry-run=client", "--output=json", "ANY=value"]
  const { stdout, stderr, exitCode } = Bun.spawnSync(["kubectl", ...words], {
    stdin: Buffer.from(JSON.stringify(object)),
  })
  if (exitCode !== 0) throw new Error(stderr.toString())
  return JSON.parse(stdout.toString())
}

/** Paths in `value` that are not in `other`. */
const missing = (value: unknown, other: unknown, path = ""): ReadonlyArray<string> => {
  if (Array.isArray(value))
    return value.flatMap((one, at) => missing(one, Array.isArray(other) ? other[at] : undefined, `${path}[${at}]`))
  if (isJsonObject(value))
    return Object.entries(value).flatMap(([name, one]) =>
      missing(one, isJsonObject(other) ? other[name] : undefined, `${path}.${name}`),
    )
  return other === undefined ? [path] : []
}

describe.each(["sqlite", "postgres"])("deploy/kubernetes/%s.yaml", (name) => {
  const text = textOf(`deploy/kubernetes/${name}.yaml`)
  const manifests = Bun.YAML.parse(text) as ReadonlyArray<Manifest>
  const ofKind = (kind: string): Manifest => {
    const [found, ...more] = manifests.filter((manifest) => manifest.kind === kind)
    if (found?.metadata.name !== "headgate" || more.length > 0) throw new Error(`not one ${kind}`)
    return found
  }
  const set = ofKind("StatefulSet").spec
  const pod = set?.template.spec
  const [container, ...others] = pod?.containers ?? []
  if (set === undefined || pod === undefined || container === undefined) throw new Error("no container")

  test("one container of the image of this version, as its user, that can change nothing but its volumes", () => {
    expect(others).toEqual([])
    expect(container.image).toEndWith(`/headgate:${version}`)
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: image.user, fsGroup: image.user })
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    })
    expect(pod.enableServiceLinks).toBe(false)
    expect(set.selector.matchLabels).toEqual(set.template.metadata.labels)
  })

  test("its volumes are where the image writes and where it looks for its configuration", () => {
    const [volume] = set.volumeClaimTemplates.map(({ metadata }) => metadata.name)
    expect(container.volumeMounts.map(({ name, mountPath }) => [name, mountPath])).toEqual([
      [volume ?? "", image.data],
      ["config", `${image.installation}/headgate.config.json`],
      ["tmp", "/tmp"],
    ])
    expect(pod.volumes.map(({ name }) => name)).toEqual(["config", "tmp"])
  })

  test("the service and the probes go to the port of the image", () => {
    const [port] = container.ports
    expect(port?.containerPort).toBe(Number(said("EXPOSE")))
    expect(ofKind("Service").spec?.ports.map(({ targetPort }) => targetPort)).toEqual([port?.name ?? ""])
    const { startupProbe, livenessProbe, readinessProbe } = container
    expect([startupProbe, livenessProbe, readinessProbe].map(({ httpGet }) => httpGet)).toEqual([
      { path: "/healthz", port: "http" },
      { path: "/healthz", port: "http" },
      { path: "/readyz", port: "http" },
    ])
  })

  test("the configuration is valid, and a pod has time to drain after it has left the service", async () => {
    const config = await configOf(JSON.parse(ofKind("ConfigMap").data?.["headgate.config.json"] ?? ""))
    const { drainDelaySeconds, drainSeconds } = config.server
    expect(drainDelaySeconds).toBe(5)
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(drainDelaySeconds + drainSeconds + 10)
    expect(unknownVariables((container.env ?? []).map(({ name }) => name))).toEqual([])
    for (const { value } of container.env ?? [])
      expect((await configOf({ storage: value })).storage._tag).toBe("Postgres")
  })

  test("eight bodies of 32 MiB at once took 3 GiB where a pod had 1: its limit holds them with a quarter of room", () => {
    const gibibytes = Number(/^(\d+)Gi$/.exec(container.resources.limits.memory)?.[1])
    expect(gibibytes * 1024).toBeGreaterThanOrEqual(longestBodiesMiB * 1.25)
  })

  test("only gateways on PostgreSQL are several", () => {
    expect(set.replicas > 1).toBe(container.env?.[0]?.name === "HEADGATE_STORAGE")
  })

  test.skipIf(kubectl === null)("kubectl knows every member of the pods, and would drop one that is misspelt", () => {
    const object = ofKind("StatefulSet")
    expect(missing(object, known(object))).toEqual([])
    const misspelt: unknown = JSON.parse(JSON.stringify(object).replace("enableServiceLinks", "enableServiceLink"))
    expect(missing(misspelt, known(misspelt))).toEqual([".spec.template.spec.enableServiceLink"])
  })
})
